"""The one runner: `python -m aucmax_studies NAME [options]`; without a name it lists the studies.

Without options a study measures everything that it lacks and writes its page. With options it does what they say, and
writes only what `--write` names.
"""

from __future__ import annotations

import importlib
import os
import runpy
import sys
from typing import NamedTuple

from . import ROOT


class Study(NamedTuple):
    """A study.

    Attributes
    ----------
    what : str
        What it shows.
    code : str
        The module with its `main`, or a script of the checkout.
    usual : str
        Its options if none are given.
    """

    what: str
    code: str
    usual: str


def page(name: str) -> str:
    """Return the option that writes a page."""
    return f"--write docs/measured/{name}.md"


PRINTED = "docs/index.md docs/start.md docs/measured/variants.md"
STUDIES = {
    "speed": Study("exact fits and roc_auc beside scikit-learn: time, memory, start-up", "speed.core", page("speed")),
    "stochastic": Study(
        "epochs and sparse fits beside SGDClassifier and liblinear", "speed.stochastic", page("stochastic")
    ),
    "c-loops": Study("SOLAM, SPAM and SHT-AUC beside C loops", "speed.c_loops", page("stochastic")),
    "margin": Study("the other losses and the algorithms on pairs: products, times", "speed.margin", page("margin")),
    "nystroem": Study("kernel features beside their matrix products", "speed.nystroem", page("nystroem")),
    "files": Study("readers, fits by blocks and their memory", "speed.files", page("files")),
    "dask": Study("fits on a Dask cluster over workers and partitions", "speed.dask_cluster", page("scale")),
    "growth": Study("time and memory as rows and columns grow", "speed.growth", page("scaling")),
    "gpu": Study("a GPU beside the processor and PyTorch; --measure needs one", "gpu.measure", page("scale")),
    "peers": Study("test AUC and time beside other libraries", "peers.measure", f"{page('peers')} --readme README.md"),
    "tables": Study("the table classifier beside logistic regression, trees and EBM", "peers.tables", page("tables")),
    "cards": Study("scorecards beside optbinning's, over the number of lines", "peers.cards", page("cards")),
    "published": Study(
        "all published algorithms with their defaults, over time and passes", "peers.published", page("published")
    ),
    "defaults": Study("what the alternatives to the defaults would give", "choices.defaults", page("defaults")),
    "minimisers": Study(
        "the stochastic defaults beside the exact minimiser of their own loss", "choices.minimisers", page("defaults")
    ),
    "losses": Study("the losses beside a tuned logistic regression", "choices.losses", page("losses")),
    "honest": Study("the AUC to quote, on shuffled labels and beside nested folds", "choices.honest", page("honest")),
    "variants": Study("the defaults beside the papers' own variants", "choices.variants", page("variants")),
    "papers": Study(
        "the papers' tables and figures, measured again",
        "reproduce.command",
        "--all --output studies/results/papers --pages docs/measured/papers",
    ),
    "fuzz": Study("damaged files of rows and forged model files", "fuzz.fuzz", page("reliability")),
    "faults": Study("commands that are killed and disturbed", "fuzz.faults", page("reliability")),
    "algorithms": Study(
        "the guide's table of the algorithms", "docs/_tools/algorithms.py", "--write docs/guide/papers.md"
    ),
    "which": Study("the flow chart of docs/which.md", "docs/_tools/which_one.py", "--write docs/which.md"),
    "printed": Study(
        "what the code of the pages prints",
        "docs/_tools/printed.py",
        " ".join([PRINTED, *sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("docs/guide/*.md"))]),
    ),
}


def main() -> None:
    """Run a study, or list all."""
    name, *options = sys.argv[1:] or [""]
    if name in ("", "-h", "--help"):
        print("python -m aucmax_studies NAME [options], where NAME is one of")
        print("\n".join(f"  {name:<12}{study.what}" for name, study in STUDIES.items()))
        return
    if name not in STUDIES:
        sys.exit(f"There is no study {name}; there are {', '.join(STUDIES)}.")
    if not (ROOT / "studies" / "pyproject.toml").exists():
        sys.exit("Studies run in a checkout of the project: pip install -e ./studies")
    study = STUDIES[name]
    if not options:
        os.chdir(ROOT)
    sys.argv[:] = [f"aucmax_studies {name}", *(options or study.usual.split())]
    if study.code.endswith(".py"):
        runpy.run_path(str(ROOT / study.code), run_name="__main__")
    else:
        importlib.import_module(f"{__package__}.{study.code}").main()


if __name__ == "__main__":
    main()
