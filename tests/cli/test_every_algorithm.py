"""Every registered algorithm goes through every command, with its defaults, on a narrow or wide file or a table."""

import csv
import itertools
import json
import re

import numpy as np
import pytest
from sklearn.pipeline import Pipeline

from aucmax import ALGORITHMS, TableEncoder, load_model
from aucmax.cli.fit import can_read_blocks, make_estimator

SHAPES = {"narrow": (40, 3), "wide": (30, 70)}  # wider than the default rank, and with fewer rows than columns
# Of the table: the size and its gaps, two colours, the age and seven months and weekdays.
N_FEATURES = {"narrow.libsvm": 3, "wide.libsvm": 70, "table.csv": 19}
NAMES = ["AUCClassifier", "TableClassifier", *ALGORITHMS]
QUICK = {  # by default these read a file a thousand times
    "PairwiseDescent": "PairwiseDescent(max_iter=20)",
    "PairwiseDescentLog": "PairwiseDescentLog(max_iter=20)",
    "LogisticDescent": "LogisticDescent(max_iter=20)",
    "SVMPerf": "SVMPerf(C=0.001,tol=0.1)",
    "SVMOR": "SVMOR(C=0.01,tol=0.1)",
}
# Gradient descent of a fixed number of steps may say that it has not converged; no other warning is expected.
pytestmark = pytest.mark.filterwarnings("ignore:Gradient descent stopped")


def each_with_a_file(names):
    """Return AUCClassifier with every file, and each of the others with one, which are slow but for the first two."""
    files = itertools.cycle(reversed(N_FEATURES))
    assert names[1] == "TableClassifier"  # the first of the others has the table
    others = [(name, next(files)) for name in names if name != "AUCClassifier"]
    return [
        *(("AUCClassifier", file) for file in N_FEATURES),
        *others[:2],
        *(pytest.param(*case, marks=pytest.mark.slow) for case in others[2:]),
    ]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp("rows"), np.random.default_rng(0)
    for shape, (n, d) in SHAPES.items():
        y = np.arange(n) % 3 == 0
        X = rng.standard_normal((n, d)) + 0.8 * y[:, None]
        if shape == "wide":
            X[rng.random(X.shape) < 0.6] = 0
        rows = [" ".join(f"{j + 1}:{v:.4f}" for j, v in enumerate(x) if v) for x in X]
        (folder / f"{shape}.libsvm").write_text(
            "".join(f"{int(c)} {r}\n" for c, r in zip(y, rows, strict=True)), encoding="utf-8"
        )
    (folder / "table.csv").write_text("size,colour,since,y\n" + "".join(draw_table(rng)), encoding="utf-8")
    return folder


def draw_table(rng):
    """Yield the lines of a table with gaps, levels and dates."""
    for k in range(40):
        size = "n/a" if k % 11 == 5 else f"${1000 + 200 * (k % 3 == 0) + 300 * rng.random():,.2f}"
        yield f'"{size}",{rng.choice(["red", "blue"])},2021-{1 + k % 7:02}-{1 + k % 20:02},{int(k % 3 == 0)}\n'


@pytest.fixture
def fit(run, folder, tmp_path):
    def fit(name, file, *options):
        options = [*options, "--algorithm", name]
        status, out, err = run("fit", folder / file, "-o", tmp_path / "m", "--force", "--json", *options)
        assert status == 0, err
        assert [line for line in err.splitlines() if "read by blocks" not in line] == []
        assert json.loads(out)["n_features"] == (3 if name == "TableClassifier" else N_FEATURES[file])
        return tmp_path / "m"

    return fit


def use_everywhere(run, model, rows, tmp_path):
    """Run every command that takes a model, and return what it printed; the AUC is that of the predicted scores."""
    commands = {
        "inspect": ["inspect", model],
        "evaluate": ["evaluate", model, rows, "--json", "--report", tmp_path / "report.html", "--force"],
        "predict": ["predict", model, rows, "--proba", "--labels"],
    }
    told = {}
    for command, arguments in commands.items():
        status, told[command], err = run(*arguments)
        assert (status, err) == (0, ""), command
    check_export(*run("export", model, "--onnx", tmp_path / "m.onnx", "--check", rows, "--force"), rows)
    auc = json.loads(told["evaluate"])["auc"]
    assert f"{auc:.4f}"[:5] in (tmp_path / "report.html").read_text(encoding="utf-8")
    scores = np.array([float(row["score_1"]) for row in csv.DictReader(told["predict"].splitlines())])
    y = np.arange(len(scores)) % 3 == 0
    positive, negative = scores[y][:, None], scores[~y]
    assert auc == pytest.approx(((positive > negative) + 0.5 * (positive == negative)).mean())
    return told


def check_export(status, out, err, rows):
    """The largest difference between scores of ONNX and ours is told, and is one of rounding."""
    assert (status, out) == (0, ""), err
    told = r"on (\d+) rows of (.+), scores of ONNX differ from ours by at most (\S+); ours are from (\S+) to (\S+)"
    n, name, *numbers = re.fullmatch(told, err.splitlines()[1]).groups()
    largest, low, high = map(float, numbers)
    assert (name, int(n)) == (str(rows), 30 if "wide" in name else 40)
    assert largest <= 1e-9 * (high - low)


@pytest.mark.parametrize(("name", "file"), each_with_a_file(NAMES))
def test_every_command_takes_its_model(name, file, run, fit, folder, tmp_path):
    model = fit(name, file)
    told = use_everywhere(run, model, folder / file, tmp_path)
    first, *others = steps if isinstance(steps := load_model(model), Pipeline) else [steps]
    assert isinstance(first, TableEncoder) == (file == "table.csv" and name != "TableClassifier")
    shown = others if isinstance(first, TableEncoder) else [first, *others]
    assert " + ".join(type(step).__name__ for step in shown) in told["inspect"]
    assert ("up to 2021-07" in told["inspect"]) == (file == "table.csv")


BY_BLOCKS = [name for name in NAMES if can_read_blocks(make_estimator(name, 0, is_table=False, by_blocks=False))]


@pytest.mark.parametrize(("name", "file"), each_with_a_file(BY_BLOCKS))
def test_every_command_takes_its_model_of_blocks(name, file, run, fit, folder, tmp_path):
    model = fit(QUICK.get(name, name), file, "--checkpoint", tmp_path / "c")
    assert not (tmp_path / "c").exists()
    use_everywhere(run, model, folder / file, tmp_path)
