"""Measures a study again: every method on every data set. Each fit is saved as soon as it ends."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy import sparse
from sklearn.model_selection import StratifiedKFold

from aucmax.classifier import AUCClassifier
from aucmax.compare.tuning import (
    FAILURES,
    TunedEstimator,
    auc_of,
    list_candidates,
    quiet_and_single_threaded,
    reason_of,
    sample_rows,
    thin,
    tune_and_fit,
    worker_options,
)
from aucmax.metrics import support_f1, support_jaccard
from aucmax.papers.registry import Method, full_name, plain_name
from aucmax.papers.solam import RegSOLAM

from ..catalogue import Dataset, Unavailable, load
from ..study import Curve, Protocol, Study, StudyMethod, Subject
from .effort import EFFORTS, Effort
from .groupings import measure_groupings
from .samples import Draws, Folds, Split, scale
from .store import Grouping, Recipe, Record, Results, Setting, Store, new_session, read_results

# Weights of at most this size count as zero, as in the paper on SHT-AUC.
ZERO = 1e-3
# However wide the rows are, the search for parameters begins with this many. Up to ONE_ROUND rows it has one round.
MIN_FIRST_ROWS = 300
ONE_ROUND = 2_000
# Methods that this process has fitted already: their fits import and compile nothing any more.
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
    """Measure what is not measured yet of a study.

    Parameters
    ----------
    study : Study
        The study.
    path : path
        The file of the results. What it holds already is not measured again unless the study has changed. All its
        results are of the same effort.
    effort : {"quick", "standard", "full"}, default="standard"
        How much of the paper's protocol is done: all of it ("full"); on larger data one round of folds, some of the
        candidates, and parameters searched by halving ("standard"); or just enough to see that everything works
        ("quick").
    data_dir : path, default=None
        The folder of the data sets.
    download : bool, default=True
        Whether to download data that are not in the folder.
    n_jobs : int, default=1
        Number of processes. Compare times only if it is 1.
    on_progress : callable, default=None
        Called with each record, the number of records of its data set so far, and their final number.

    Returns
    -------
    results : Results
        Everything that the file holds.
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
            for item in _measure(study, subject, level, done, known, data_dir, download, n_jobs, on_progress):
                if not is_new:
                    store.add(new_session(n_jobs, effort))
                    is_new = True
                store.add(item)
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
    """Yield the new results of a data set."""
    before = known.settings.get(subject.label)
    if subject.missing:
        if before is None:
            yield Setting(subject.label, missing=subject.missing)
        return
    if before is not None and not before.missing and _is_complete(study, subject, effort, before, done, known):
        return
    try:
        samples, whole = _open(study, subject, effort, data_dir, download)
    except Unavailable as error:
        if before is None or before.missing not in ("", str(error)):
            yield Setting(subject.label, missing=str(error))
        return
    setting = _setting(study, samples[""], subject.label, effort, len(whole.y) if whole else 0)
    if setting != before:
        yield setting
    if before is not None and setting.is_other_than(before):
        done, known = set(), known._replace(groupings={})
    planned = list(_plan_fits(study, subject, setting.runs, effort))
    left = [(entry, run, x) for entry, run, x in planned if (subject.label, entry.label, run, x) not in done]
    tasks = (
        delayed(_measure_fit)(
            samples[entry.scaling], study.protocol, study.curve, study.metrics, entry, run, x, subject.label, setting
        )
        for entry, run, x in left
    )
    count = len(planned) - len(left)
    for record in Parallel(n_jobs=n_jobs, return_as="generator_unordered", **worker_options(n_jobs))(tasks):
        count += 1
        if on_progress is not None:
            on_progress(record, count, len(planned))
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
    """Return whether nothing is left to measure; then the data need not be read."""
    if _wants_grouping(study, subject, known):
        return False
    runs = _count_runs(study, subject, effort, setting.rows, setting.columns)
    planned = _plan_fits(study, subject, runs, effort)
    return all((subject.label, entry.label, run, x) in done for entry, run, x in planned)


def _wants_grouping(study: Study, subject: Subject, known: Results) -> bool:
    return bool(subject.grouping and study.published) and subject.label not in known.groupings


def _open(
    study: Study, subject: Subject, effort: Effort, data_dir: Path | None, download: bool
) -> tuple[dict[str, Folds | Draws], Dataset | None]:
    """Return the splits or draws by the methods' own scalings, "" for the usual one, and all rows of real data."""
    scalings = {entry.scaling for entry in _methods_on(study, subject)} | {""}
    usual = subject.scaling or study.protocol.scaling
    if subject.generator:
        return {own: Draws(subject, own or usual, study.protocol, effort.drawn_rows) for own in scalings}, None
    whole = load(
        subject.name or subject.label,
        data_dir=data_dir,
        positive=subject.positive or None,
        drop_columns=subject.drop_columns,
        download=download,
    )
    rows = sample_rows(len(whole.y), effort.max_rows, 0)
    X = whole.features[rows].toarray() if subject.dense and sparse.issparse(whole.features) else whole.features[rows]
    return {own: Folds(scale(X, own or usual), whole.y[rows], study.protocol, subject) for own in scalings}, whole


def _setting(study: Study, sample: Folds | Draws, label: str, effort: Effort, all_rows: int) -> Setting:
    rows, columns, positive, width = sample.shape
    first = rows
    if effort.first_rows and effort.first_values and rows > ONE_ROUND:
        first = min(effort.first_rows, max(effort.first_values // width, MIN_FIRST_ROWS))
    return Setting(
        label,
        rows,
        columns,
        positive,
        all_rows or rows,
        _count_runs(study, study.subjects[label], effort, rows, columns),
        min(filter(None, (effort.candidates, study.subjects[label].candidates)), default=0),
        first if first < rows else 0,
    )


def _count_runs(study: Study, subject: Subject, effort: Effort, rows: int, columns: int) -> int:
    """Return the number of splits or draws of data of some size."""
    protocol = study.protocol
    whole = protocol.runs if subject.generator else protocol.folds * protocol.repeats
    is_small = rows <= effort.few_rows and columns <= effort.few_columns
    of_large = effort.draws if subject.generator else effort.runs
    most = effort.runs_of_small if is_small else of_large
    if effort.name == "standard":
        most = subject.runs or most
    return min(whole, most or whole) * (1 if effort.name == "quick" else subject.repeats)


def _plan_fits(
    study: Study, subject: Subject, runs: int, effort: Effort
) -> Iterator[tuple[StudyMethod, int, float | None]]:
    """Yield method, run and point of the curve of every fit on a data set."""
    methods = [entry for entry in _methods_on(study, subject) if subject.generator or not entry.from_moments]
    methods = [
        entry._replace(
            method=_fix(_regrid(entry.method, subject), subject.parameters),
            tuning_rows=subject.tuning_rows or entry.tuning_rows,
        )
        for entry in methods
    ]
    points: Sequence[float | None] = [None]
    if study.curve is not None:
        points = thin(study.curve.values, min(len(study.curve.values), effort.points or len(study.curve.values)))
    for run, entry in itertools.product(range(runs), methods):
        for x in [None] if entry.constant and study.curve and study.curve.of == "method" else points:
            yield entry, run, x


def _methods_on(study: Study, subject: Subject) -> list[StudyMethod]:
    """Return the methods that are measured on a data set, without those that another study has."""
    named = subject.methods or study.methods
    return [entry for entry in study.methods.values() if not entry.same_as and entry.label in named]


def _regrid(method: Method, subject: Subject) -> Method:
    """Return the method with the grid of a data set."""
    grid = {name: subject.grid.get(plain_name(name), values) for name, values in method.grid.items()}
    return method._replace(grid=grid) if subject.grid else method


def _fix(method: Method, parameters: Mapping[str, Any]) -> Method:
    """Return the method with the parameters of a data set, without those that it chooses itself or does not have."""
    if not parameters:
        return method
    known = {plain_name(name) for name in method().get_params()} - {plain_name(name) for name in method.grid}
    own = {name: value for name, value in parameters.items() if name in known}
    return method.fix(**own) if own else method


def _measure_fit(
    sample: Folds | Draws,
    protocol: Protocol,
    curve: Curve | None,
    metrics: Sequence[str],
    entry: StudyMethod,
    run: int,
    x: float | None,
    label: str,
    setting: Setting,
) -> Record:
    """Tune and fit a method on the training rows of a run, and measure it on the test rows."""
    of = curve.of if curve is not None and x is not None else ""
    with quiet_and_single_threaded():
        try:
            split = sample.split(run, {curve.parameter: x} if curve is not None and of == "data" else {})
            split = _with_fewer_rows(split, entry.max_rows, run)
            if of == "rows" and x is not None:
                split = _with_fewer_rows(split, round(x * len(split.y_train)) if x <= 1 else int(x), run)
            fixed = {entry.parameter or curve.parameter: x} if curve is not None and of == "method" else {}
            tuned = _tune(split, protocol, entry, fixed, run, setting)
            measured = _measure_metrics(tuned.estimator, split, metrics)
        except FAILURES as error:
            return Record(label, entry.label, run, x, failure=reason_of(error))
    times = {"seconds": round(tuned.seconds, 6), "tuning_seconds": round(tuned.tuning_seconds, 3)}
    if len(tuned.parameters) == 0:
        del times["tuning_seconds"]
    chosen = {name: value for name, value in tuned.parameters.items() if name not in map(plain_name, fixed)}
    return Record(label, entry.label, run, x, {**measured, **times}, chosen)


def _with_fewer_rows(split: Split, most: int | None, seed: int) -> Split:
    rows = sample_rows(len(split.y_train), most, seed)
    return split._replace(X_train=split.X_train[rows], y_train=split.y_train[rows])


def _tune(
    split: Split, protocol: Protocol, entry: StudyMethod, fixed: Mapping[str, Any], run: int, setting: Setting
) -> TunedEstimator:
    if entry.from_moments:
        estimator = entry.method.seeded(run).fit_moments(split.truth)  # imports and compiles
        start = perf_counter()
        estimator.fit_moments(split.truth)
        return TunedEstimator(estimator, {}, perf_counter() - start, 0.0)
    estimator = entry.method()
    fixed = {full_name(name, estimator) or name: value for name, value in fixed.items()}
    grid = {name: values for name, values in entry.method.grid.items() if name not in fixed}
    most = min(filter(None, (setting.candidates, entry.candidates)), default=None)
    tried = list_candidates(grid, split.X_train.shape[1], most)
    candidates = [{**candidate, **fixed} for candidate in tried]
    folds = StratifiedKFold(protocol.inner_folds, shuffle=True, random_state=run)
    tuned = tune_and_fit(
        entry.method,
        candidates,
        split.X_train,
        split.y_train,
        folds,
        run,
        warm_up=entry.method.name not in _warm,
        first_rows=max(setting.first_rows, entry.first_rows or 0) if setting.first_rows else None,
        last_rows=entry.tuning_rows,
    )
    _warm.add(entry.method.name)
    return tuned


def _measure_metrics(estimator: Any, split: Split, metrics: Sequence[str]) -> dict[str, float]:
    """Return the metrics of the study on the test rows, without the times."""
    measured = {"auc": auc_of(estimator, split.X_test, split.y_test)}
    if "accuracy" in metrics:
        measured["accuracy"] = float(np.mean(estimator.predict(split.X_test) == split.y_test))
    if "loss" in metrics:
        measured["loss"] = _pair_square(1.0, estimator.decision_function(split.X_train), split.y_train)
    if "gap" in metrics:
        measured["gap"] = _gap(estimator, split.X_train, split.y_train)
    for name, index in (("f1", support_f1), ("jaccard", support_jaccard)):
        if name in metrics:
            weights = np.ravel(estimator.coef_)
            measured[name] = float(index(np.where(np.abs(weights) > ZERO, weights, 0), split.truth))
    return {name: float(f"{value:.6g}") if name == "gap" else round(value, 6) for name, value in measured.items()}


def _pair_square(target: float, scores: np.ndarray, y: np.ndarray) -> float:
    """Return the mean of (target - s + s')^2 over the pairs of a positive score s and a negative one s'."""
    positive, negative = scores[y == 1], scores[y == 0]
    return float((target - positive.mean() + negative.mean()) ** 2 + positive.var() + negative.var())


def _gap(estimator: Any, X: Any, y: np.ndarray) -> float:
    """Return how far the objective f/2 + alpha/2 |w|^2, f the pairwise square loss, is above its minimum.

    It is quadratic, so with d the distance from the minimiser it is half of the mean of (d.(x - x'))^2 over the pairs
    plus alpha |d|^2: nothing cancels. The paper's regSOLAM has p (1 - p) f in place of f.
    """
    alpha = estimator.alpha
    if isinstance(estimator, RegSOLAM):
        alpha /= y.mean() * (1 - y.mean())
    d = np.ravel(estimator.coef_ - AUCClassifier("squared", alpha=alpha, standardize=False).fit(X, y).coef_)
    return (_pair_square(0.0, X @ d, y) + alpha * float(d @ d)) / 2
