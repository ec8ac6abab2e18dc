"""Measures a study again: every method on every data set, each fit kept as it ends."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from scipy import sparse
from sklearn.model_selection import StratifiedKFold

from ..compare.methods import full_name, leaf
from ..compare.tuning import (
    FAILURES,
    Fitted,
    auc_of,
    list_candidates,
    on_one_core,
    quiet_workers,
    reason_of,
    take_rows,
    thin,
    tune_and_fit,
)
from ..metrics import support_f1, support_jaccard
from .catalogue import Dataset, Unavailable, load
from .groupings import measure_groupings
from .samples import Draws, Folds, Part, scale
from .store import Grouping, Recipe, Record, Results, Setting, Store, new_session, read_results
from .study import Contender, Curve, Protocol, Study, Subject

# Weights count as zero below this, as in the paper on SHT-AUC.
ZERO = 1e-3


class Effort(NamedTuple):
    """How much of the papers' protocols is done; None is all of it.

    Attributes
    ----------
    name : str
        "quick", "standard" or "full".
    max_rows : int or None
        The most rows of a data set.
    few_rows, few_columns : int
        Data of at most so many rows and columns are small.
    runs_of_small, runs, draws : int or None
        The most splits or draws of small data, splits of other data, and draws of other generated data.
    candidates, candidates_of_curves : int or None
        The most candidates of a grid, evenly spaced, in tables and at each point of a curve.
    tuning_rows, tuning_values : int or None
        The most rows, and values that are not zero, of a training part that parameters are chosen on.
    points : int or None
        The most points of a curve.
    drawn_rows : int or None
        Rows of generated data, instead of the paper's.
    groupings, grouping_rows : int
        The most other choices of the classes, and rows, that `measure_groupings` tries.
    """

    name: str
    max_rows: int | None = None
    few_rows: int = 2_000
    few_columns: int = 1_000
    runs_of_small: int | None = None
    runs: int | None = None
    draws: int | None = None
    candidates: int | None = None
    candidates_of_curves: int | None = None
    tuning_rows: int | None = None
    tuning_values: int | None = None
    points: int | None = None
    drawn_rows: int | None = None
    groupings: int = 40
    grouping_rows: int = 20_000


EFFORTS = {
    effort.name: effort
    for effort in (
        Effort("quick", 1_000, 0, 0, None, 2, 2, 3, 3, 500, 20_000, 4, 1_000, 4, 2_000),
        Effort("standard", 70_000, 2_000, 1_000, 25, 5, 4, 30, 4, 4_000, 500_000, 8),
        Effort("full"),
    )
}
# The fewest rows that parameters are chosen on.
MIN_TUNING_ROWS = 300
# Methods that this process has fitted: what they load and compile is in no time any more.
_warm: set[str] = set()


def run_study(
    study: Study,
    path: Path,
    *,
    effort: str = "standard",
    data_dir: Path | None = None,
    download: bool = True,
    n_jobs: int = 1,
    on_progress: Callable[[Record, int, int], None] | None = None,
) -> Results:
    """Measure a study, or what is not measured yet.

    Parameters
    ----------
    study : Study
        The study.
    path : path
        The file that holds the results; what it has already, from a run of the same effort, is not done again unless
        the study has changed.
    effort : {"quick", "standard", "full"}, default="standard"
        How much of the paper's protocol: all of it ("full"); on larger data one round of folds, some of the
        candidates, chosen on some of the rows ("standard"); or just enough to see that everything works ("quick").
    data_dir : path, default=None
        The folder of the data sets.
    download : bool, default=True
        Whether data that are not there are looked for on the network.
    n_jobs : int, default=1
        Number of processes. Times can only be compared with 1.
    on_progress : callable, default=None
        Called with each record, how many there are of its data set, and how many there will be.

    Returns
    -------
    results : Results
        All that the file holds.
    """
    level, known = EFFORTS[effort], read_results(path)
    others = {session.effort for session in known.sessions} - {effort}
    if others:
        raise ValueError(f"{path} holds results of a {min(others)} run: a {effort} one needs another folder.")
    with Store(path) as store:
        for (data, method), text in study.recipes().items():
            if known.recipes.get((data, method)) != text:
                store.add(Recipe(data, method, text))
        known = read_results(path)
        # A fit that failed is tried again: there may be more memory now, or the defect may be gone.
        done = {(record.data, record.method, record.run, record.x) for record in known.records if not record.failure}
        is_new = False
        for subject in study.subjects.values():
            for entry in _measure(study, subject, level, done, known, data_dir, download, n_jobs, on_progress):
                if not is_new:
                    store.add(new_session(n_jobs, effort))
                    is_new = True
                store.add(entry)
    return read_results(path)


def _measure(
    study: Study,
    subject: Subject,
    effort: Effort,
    done: set[tuple[str, str, int, float | None]],
    known: Results,
    data_dir: Path | None,
    download: bool,
    n_jobs: int,
    on_progress: Callable[[Record, int, int], None] | None,
) -> Iterator[Record | Setting | Grouping]:
    """Yield what is new of a data set."""
    before = known.settings.get(subject.label)
    if subject.missing:
        if before is None:
            yield Setting(subject.label, missing=subject.missing)
        return
    if before is not None and not before.missing and _is_complete(study, subject, effort, before, done, known):
        return
    try:
        sample, whole = _open(study, subject, effort, data_dir, download)
    except Unavailable as error:
        if before is None or before.missing not in ("", str(error)):
            yield Setting(subject.label, missing=str(error))
        return
    setting = _setting(study, sample, subject.label, effort, len(whole.y) if whole else 0)
    if setting != before:
        yield setting
    if before is not None and setting.is_other_than(before):
        done, known = set(), known._replace(groupings={})
    cells = list(_cells(study, subject, setting.runs, effort))
    left = [cell for cell in cells if (subject.label, cell[0].label, cell[1], cell[2]) not in done]
    tasks = (
        delayed(_fit)(sample, study.protocol, study.curve, study.metrics, contender, run, x, subject.label, setting)
        for contender, run, x in left
    )
    count = len(cells) - len(left)
    for record in Parallel(n_jobs=n_jobs, return_as="generator_unordered", **quiet_workers(n_jobs))(tasks):
        count += 1
        if on_progress is not None:
            on_progress(record, count, len(cells))
        yield record
    if _wants_grouping(study, subject, known) and whole is not None:
        yield measure_groupings(subject, whole, most=effort.groupings, max_rows=effort.grouping_rows)


def _is_complete(
    study: Study,
    subject: Subject,
    effort: Effort,
    setting: Setting,
    done: set[tuple[str, str, int, float | None]],
    known: Results,
) -> bool:
    """Return whether nothing is left to do, so that the data need not be read."""
    if _wants_grouping(study, subject, known):
        return False
    cells = _cells(study, subject, setting.runs, effort)
    return all((subject.label, contender.label, run, x) in done for contender, run, x in cells)


def _wants_grouping(study: Study, subject: Subject, known: Results) -> bool:
    return bool(subject.grouping and study.published) and subject.label not in known.groupings


def _open(
    study: Study, subject: Subject, effort: Effort, data_dir: Path | None, download: bool
) -> tuple[Folds | Draws, Dataset | None]:
    """Return the splits or draws, and all rows of real data."""
    if subject.generator:
        return Draws(subject, study.protocol, effort.drawn_rows), None
    whole = load(
        subject.name or subject.label,
        data_dir=data_dir,
        positive=subject.positive or None,
        drop_columns=subject.drop_columns,
        download=download,
    )
    rows = take_rows(len(whole.y), effort.max_rows, 0)
    X = whole.X[rows].toarray() if subject.dense and sparse.issparse(whole.X) else whole.X[rows]
    return Folds(scale(X, subject.scaling or study.protocol.scaling), whole.y[rows], study.protocol), whole


def _setting(study: Study, sample: Folds | Draws, label: str, effort: Effort, all_rows: int) -> Setting:
    rows, columns, positive, width = sample.shape
    is_small = rows <= effort.few_rows and columns <= effort.few_columns
    of_large = effort.draws if isinstance(sample, Draws) else effort.runs
    most = effort.runs_of_small if is_small else of_large
    tuning = rows
    if effort.tuning_rows and effort.tuning_values:
        tuning = min(effort.tuning_rows, max(effort.tuning_values // width, MIN_TUNING_ROWS))
    return Setting(
        label,
        rows,
        columns,
        positive,
        all_rows or rows,
        min(sample.n_runs, most or sample.n_runs),
        (effort.candidates if study.curve is None else effort.candidates_of_curves) or 0,
        tuning if tuning < rows else 0,
    )


def _cells(study: Study, subject: Subject, runs: int, effort: Effort) -> Iterator[tuple[Contender, int, float | None]]:
    """Yield the methods, runs and points of a curve that are to be measured on a data set."""
    own = [contender for contender in study.contenders.values() if not contender.same_as]
    contenders = [contender for contender in own if subject.generator or not contender.from_moments]
    points: Sequence[float | None] = [None]
    if study.curve is not None:
        points = thin(study.curve.values, min(len(study.curve.values), effort.points or len(study.curve.values)))
    for run, contender in itertools.product(range(runs), contenders):
        for x in [None] if contender.constant and study.curve and study.curve.of == "method" else points:
            yield contender, run, x


def _fit(
    sample: Folds | Draws,
    protocol: Protocol,
    curve: Curve | None,
    metrics: Sequence[str],
    contender: Contender,
    run: int,
    x: float | None,
    label: str,
    setting: Setting,
) -> Record:
    """Tune and fit a method on the training rows of a run, and measure it on the others."""
    of = curve.of if curve is not None and x is not None else ""
    with on_one_core():
        try:
            part = sample.part(run, {curve.parameter: x} if curve is not None and of == "data" else {})
            part = _fewer_rows(part, contender.max_rows, run)
            if of == "rows" and x is not None:
                part = _fewer_rows(part, round(x * len(part.y)) if x <= 1 else int(x), run)
            fixed = {contender.parameter or curve.parameter: x} if curve is not None and of == "method" else {}
            fitted = _fit_part(part, protocol, contender, fixed, run, setting)
            measured = _evaluate(fitted.estimator, part, metrics)
        except FAILURES as error:
            return Record(label, contender.label, run, x, failure=reason_of(error))
    times = {"seconds": round(fitted.seconds, 6), "tuning_seconds": round(fitted.tuning_seconds, 3)}
    if len(fitted.parameters) == 0:
        del times["tuning_seconds"]
    chosen = {name: value for name, value in fitted.parameters.items() if name not in map(leaf, fixed)}
    return Record(label, contender.label, run, x, {**measured, **times}, chosen)


def _fewer_rows(part: Part, most: int | None, seed: int) -> Part:
    rows = take_rows(len(part.y), most, seed)
    return part._replace(X=part.X[rows], y=part.y[rows])


def _fit_part(
    part: Part, protocol: Protocol, contender: Contender, fixed: Mapping[str, Any], run: int, setting: Setting
) -> Fitted:
    if contender.from_moments:
        estimator = contender.method.seeded(run).fit_moments(part.truth)  # loads and compiles
        start = perf_counter()
        estimator.fit_moments(part.truth)
        return Fitted(estimator, {}, perf_counter() - start, 0.0)
    estimator = contender.method.make()
    fixed = {full_name(name, estimator) or name: value for name, value in fixed.items()}
    grid = {name: values for name, values in contender.method.grid.items() if name not in fixed}
    candidates = [
        {**candidate, **fixed} for candidate in list_candidates(grid, part.X.shape[1], setting.candidates or None)
    ]
    folds = StratifiedKFold(protocol.inner_folds, shuffle=True, random_state=run)
    fitted = tune_and_fit(
        contender.method,
        candidates,
        part.X,
        part.y,
        folds,
        run,
        warm_up=contender.method.name not in _warm,
        tuning_rows=setting.tuning_rows or None,
    )
    _warm.add(contender.method.name)
    return fitted


def _evaluate(estimator: Any, part: Part, metrics: Sequence[str]) -> dict[str, float]:
    """Return what the study measures, but for times."""
    measured = {"auc": auc_of(estimator, part.X_test, part.y_test)}
    if "accuracy" in metrics:
        measured["accuracy"] = float(np.mean(estimator.predict(part.X_test) == part.y_test))
    for name, index in (("f1", support_f1), ("jaccard", support_jaccard)):
        if name in metrics:
            weights = np.ravel(estimator.coef_)
            measured[name] = float(index(np.where(np.abs(weights) > ZERO, weights, 0), part.truth))
    return {name: round(value, 6) for name, value in measured.items()}
