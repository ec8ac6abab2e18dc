"""The page of the study of tables, from the file of results alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..common import realdata
from .summary import MARGIN, N_ERRORS, ranks, standard_error
from .table_data import N_FOLDS
from .table_models import NUMERIC_RIVALS, OURS, RIVALS

TUNED_LEAD = 0.01  # the AUC by which tuned LightGBM must lead the ladder for a table to be named
TREES_LEAD = 0.005  # the AUC by which LightGBM must lead the lines for a numeric set to count
# Bins, ridges, the test for pairs, the prior of strengths and the functions of surfaces were chosen on these sets.
CHOSEN_ON = (
    *("cod-rna", "connect-4", "covtype", "diabetes", "german", "higgs", "ijcnn1", "letter", "magic04", "sonar"),
    *("spambase", "splice-all", "svmguide1", "svmguide3", "vowel"),
)
CHOSEN_ON_TABLES = ("adult", "telco_churn")

Cells = Mapping[str, Mapping[str, float]]


# Figures


def aucs(cells: Cells, name: str, model: str) -> np.ndarray:
    """Return the test AUC of a model on each split of a data set that it was measured on."""
    found = sorted(key for key in cells if key.startswith(f"{name}/{model}/") and "auc" in cells[key])
    return np.array([cells[key]["auc"] for key in found])


def mean_aucs(cells: Cells, names: Sequence[str], model: str, n_splits: int | None = None) -> np.ndarray:
    """Return the mean test AUC on each data set, over all or the first splits; NaN if there is none."""
    found = [aucs(cells, name, model)[:n_splits] for name in names]
    return np.array([each.mean() if len(each) else np.nan for each in found])


def mean_seconds(cells: Cells, names: Sequence[str], model: str) -> float:
    """Return the geometric mean of the times on the first folds; NaN if a table lacks it."""
    seconds = [cells[f"{name}/{model}/0"].get("seconds", np.nan) for name in names]
    return float(np.exp(np.mean(np.log(seconds))))


def mean_ranks(cells: Cells, names: Sequence[str], models: Sequence[str]) -> dict[str, float]:
    """Return the mean ranks of the rivals and the ladder; a rung has the rank that it would have in the ladder's place.

    AUCs that are equal to four digits share a rank.
    """
    rivals = [model for model in models if model not in OURS]
    own = [model for model in models if model in OURS]
    found: dict[str, float] = {}
    for ranked in [[*rivals, model] for model in own] or [rivals]:
        auc = np.column_stack([mean_aucs(cells, names, model) for model in ranked])
        found = dict(zip(ranked, ranks(auc).mean(axis=0).tolist(), strict=True)) | found
    return found


def complete_models(cells: Cells, names: Sequence[str]) -> list[str]:
    """Return the models that were measured on all folds of all tables, ours first."""
    models = [*OURS, *RIVALS]
    return [model for model in models if all(len(aucs(cells, name, model)) == N_FOLDS for name in names)]


# Tables


def show(figure: float, form: str = ".4f") -> str:
    return "" if np.isnan(figure) else f"{figure:{form}}".removeprefix("0" if form == ".4f" else "")


def line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def head(columns: Sequence[str]) -> list[str]:
    return [line(columns), f"|{'---|' * len(columns)}"]


def table_of_models(cells: Cells, halves: Mapping[str, Sequence[str]], models: Sequence[str]) -> list[str]:
    """Return mean rank, mean AUC and mean time of each model, on all tables and on each half."""
    rank = {half: mean_ranks(cells, names, models) for half, names in halves.items()}
    lines = head(["", *(f"{what}, {half}" for what in ("rank", "AUC", "seconds") for half in halves)])
    for model in sorted(models, key=lambda model: rank["all"][model]):
        parts = [show(rank[half][model], ".2f") for half in halves]
        parts += [show(mean_aucs(cells, names, model).mean()) for names in halves.values()]
        parts += [show(mean_seconds(cells, names, model), ".2f") for names in halves.values()]
        lines.append(line([f"**{model}**" if model in OURS else model, *parts]))
    return lines


def table_of_sets(cells: Cells, names: Sequence[str], models: Sequence[str], half: Mapping[str, str]) -> list[str]:
    """Return the mean test AUC of each model on each table."""
    columns = {model: mean_aucs(cells, names, model) for model in models}
    return [
        *head(["", "half", *models]),
        *(line([name, half[name], *(show(auc[k]) for auc in columns.values())]) for k, name in enumerate(names)),
    ]


def table_of_numeric(cells: Cells, names: Sequence[str]) -> list[str]:
    """Return the mean test AUC of each model on each numeric set, and of some on the split that EBM ran on."""
    models = [*(model for model in NUMERIC_RIVALS if model != "EBM"), "lines", "ladder"]
    columns = [mean_aucs(cells, names, model) for model in models]
    columns += [mean_aucs(cells, names, model, 1) for model in ("EBM", "ladder")]
    starred = [f"{name} *" if name in CHOSEN_ON else name for name in names]
    return [
        *head(["", *models, "EBM, first split", "ladder, first split"]),
        *(line([name, *(show(auc[k]) for auc in columns)]) for k, name in enumerate(starred)),
    ]


# Sentences


def place(cells: Cells, names: Sequence[str], models: Sequence[str]) -> str:
    """Return the place of the ladder by its mean rank, and the best of the others."""
    rank = {model: each for model, each in mean_ranks(cells, names, models).items() if model not in OURS}
    ours = mean_ranks(cells, names, models)["ladder"]
    best = min(rank, key=lambda model: rank[model])
    return (
        f"the ladder is number {1 + sum(each < ours for each in rank.values())} of {1 + len(rank)} with a mean rank of "
        f"{ours:.2f}; the best of the others is {best} with {rank[best]:.2f}"
    )


def difference(cells: Cells, names: Sequence[str], model: str, rival: str) -> str:
    """Return the mean difference of two models and the number of tables on which the first is better and worse."""
    gap = mean_aucs(cells, names, model).round(4) - mean_aucs(cells, names, rival).round(4)
    return f"{np.mean(gap):+.4f} ({np.sum(gap > 0)} better, {np.sum(gap < 0)} worse)"


def listed(names: Sequence[str], figures: Sequence[float]) -> str:
    """Return the number of data sets with a figure each, for a sentence."""
    each = "; ".join(f"{name}, {figure:.4f}" for name, figure in zip(names, figures, strict=True))
    return f"{len(names)} ({each})" if len(names) else "none"


def tuned_leads(cells: Cells, names: Sequence[str]) -> str:
    """Return the tables on which tuned trees lead the ladder clearly."""
    gap = mean_aucs(cells, names, "LightGBM tuned") - mean_aucs(cells, names, "ladder")
    lead = np.flatnonzero(gap > TUNED_LEAD)
    return (
        f"- LightGBM tuned leads the ladder by more than {TUNED_LEAD} on "
        f"{listed([names[k] for k in lead], gap[lead])} of {len(names)} tables."
    )


def lines_below(cells: Cells, names: Sequence[str]) -> str:
    """Return the tables on which lines are below logistic regression, by folds in pairs."""
    gaps = [aucs(cells, name, "lines") - aucs(cells, name, "logistic CV") for name in names]
    limits = [max(MARGIN, N_ERRORS * standard_error(gap)) for gap in gaps]
    below = [k for k, gap in enumerate(gaps) if -gap.mean() > limits[k]]
    return (
        f"- Lines are below logistic CV by more than {MARGIN} and {N_ERRORS} standard errors of the differences on "
        f"{listed([names[k] for k in below], [-gaps[k].mean() for k in below])} of {len(names)} tables."
    )


def times(cells: Cells, names: Sequence[str], models: Sequence[str]) -> list[str]:
    """Return the time of the ladder as multiples of the rivals' times, where both were measured."""
    ratio = {model: mean_seconds(cells, names, "ladder") / mean_seconds(cells, names, model) for model in models}
    parts = [f"{value:.2g} times that of {model}" for model, value in ratio.items() if not np.isnan(value)]
    return [f"- The ladder's time, in the geometric mean, is {', '.join(parts)}."] if parts else []


def sentences_of_tables(cells: Cells, halves: Mapping[str, Sequence[str]], models: Sequence[str]) -> list[str]:
    """Return what the tables of group A say."""
    rivals = [model for model in ("LightGBM tuned", "LightGBM", "EBM", "logistic CV") if model in models]
    every, lines = halves["all"], []
    if "ladder" in models:
        for half in ("verdict", "choice"):
            lines.append(
                f"- On the {len(halves[half])} tables of the {half} half, {place(cells, halves[half], models)}."
            )
        for rival in rivals:
            parts = [f"{difference(cells, names, 'ladder', rival)} on {half}" for half, names in halves.items()]
            lines.append(f"- Mean difference of the ladder to {rival}: {', '.join(parts)}.")
    if {"ladder", "LightGBM tuned"} <= set(models):
        lines.append(tuned_leads(cells, every))
    if {"lines", "logistic CV"} <= set(models):
        parts = [f"{difference(cells, names, 'lines', 'logistic CV')} on {half}" for half, names in halves.items()]
        lines += [f"- Mean difference of the lines to logistic CV: {', '.join(parts)}.", lines_below(cells, every)]
    return [*lines, *(times(cells, every, rivals) if "ladder" in models else [])]


def sentences_of_numeric(cells: Cells, names: Sequence[str]) -> list[str]:
    """Return what the numeric sets of group B say: the share of LightGBM's lead that the ladder closes, and EBM."""
    lines = []
    unstarred = [name for name in names if name not in CHOSEN_ON]
    for title, chosen in (("the numeric sets", names), ("those without a star", unstarred)):
        low, ours, trees = (mean_aucs(cells, chosen, model) for model in ("lines", "ladder", "LightGBM"))
        lead = np.flatnonzero((trees - low > TREES_LEAD) & ~np.isnan(ours))
        if len(lead):
            share = (ours - low)[lead].sum() / (trees - low)[lead].sum()
            lines.append(
                f"- LightGBM leads the lines by more than {TREES_LEAD} on {len(lead)} of {title}. The ladder closes "
                f"{share:.0%} of the mean lead there."
            )
    ebm, ours = (mean_aucs(cells, names, model, 1) for model in ("EBM", "ladder"))
    both = ~np.isnan(ebm - ours)
    if both.any():
        lines.append(
            f"- On the {both.sum()} splits of EBM, its mean AUC is {show(ebm[both].mean())}, and the ladder's "
            f"{show(ours[both].mean())}."
        )
    return lines


# The page


def make_page(found: Mapping[str, Any], about: str) -> str:
    """Return docs/measured/tables.md from the results, and what the study says about itself."""
    cells, half = found["cells"], found["halves"]
    tables = sorted(half)
    numeric = [name for name in realdata.SOURCES if any(key.startswith(f"{name}/") for key in cells)]
    numeric = [name for name in numeric if name not in half]
    halves = {"all": tables} | {each: [name for name in tables if half[name] == each] for each in ("choice", "verdict")}
    models = complete_models(cells, tables)
    if not models:
        raise SystemExit("No model was measured on all tables yet: measure first.")
    left_out = [model for model in [*OURS, *RIVALS] if model not in models]
    versions = ", ".join(f"{library} {version}" for library, version in found["versions"].items())
    lines = ["# The table classifier beside trees and EBM", "", "Made by `make study NAME=tables`.", "", about]
    lines += [f"{found['machine']}; {versions}.", ""]
    lines += sentences_of_tables(cells, halves, models) + sentences_of_numeric(cells, numeric)
    if left_out:
        lines.append(f"- Not measured on all tables, and left out: {', '.join(left_out)}.")
    lines += ["", "## A. Raw tables", "", *table_of_models(cells, halves, models), ""]
    lines += [
        "Ranks are among the rivals and the ladder; a rung has the rank that it would have in the ladder's place. AUCs "
        "that are equal to four digits share a rank. Times are geometric means of the first folds.",
        "",
    ]
    seen = [name for name in CHOSEN_ON_TABLES if name in half]
    if seen:
        lines += [
            f"Bins, ridges and the test for pairs of the curves were chosen earlier on {' and '.join(seen)}, so our "
            "figures there flatter.",
            "",
        ]
    lines += ["### Test AUC", "", *table_of_sets(cells, tables, models, half), ""]
    lines += ["## B. Numeric sets", ""]
    lines += ["Bins, ridges, priors and what surfaces are made of were also chosen on sets with a star.", ""]
    return "\n".join([*lines, *table_of_numeric(cells, numeric), ""])
