"""Models as ONNX graphs, for prediction without Python.

The input is "X", rows in double precision: in float32, a column of unix times would lose its last two digits, and
scores with it. The graph computes in double precision and has three outputs:

    score           double, shape (n,)      `decision_function`
    probabilities   double, shape (n, 2)    `predict_proba`
    label           shape (n,)              `predict`: int64 for whole numbers and booleans, double for other numbers,
                                            otherwise strings

The graph of a pipeline is made step by step; each kind of step has a function below.

A `TableClassifier`, and a model that begins with a `TableEncoder`, takes the codes of its table, not its cells: ONNX
reads no dates and no numbers in text. A column of "X" is then a number, 0 or 1 for a truth value, an age in days, or
the place of a level in the list of levels, from 0. NaN is a missing value. The metadata has the names of these columns
("feature_names") and their levels ("levels", null for numbers). After a `TableEncoder`, the last level stands for all
that are not listed; for a `TableClassifier`, any number that is no place in the list does.
"""

from __future__ import annotations

import json
import os
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from .. import __version__
from .._base import LinearAUCClassifier
from ..files.atomic_write import write_atomically
from ..files.labels import label_text
from ..papers.nystroem import GaussianKernel
from ..rows.validate import check_indices
from ..tables.reading.features import FeaturePart
from ..tables.terms import edges_of

BLOCK = 2**22  # how many numbers a runtime is given at a time

# The operators and the file format of ONNX 1.13, of December 2022.
OPSET, FILE_FORMAT = 18, 8
# Bytes that the arrays may take: a file holds up to 2 GB, and the nodes take some of it.
LARGEST = 2**31 - 2**20


def export_onnx(model: Any, path: str | os.PathLike[str], feature_names: Any = None) -> None:
    """Write a fitted model as an ONNX file, whole or not at all.

    Parameters
    ----------
    model : estimator
        A classifier of aucmax, or a pipeline made by one of its functions.
    path : str or path
        The file to write. An existing file is replaced.
    feature_names : sequence of str, default=None
        Names of the columns, written to the metadata of the file. By default, the names of the training data.

    Examples
    --------
    >>> import tempfile
    >>> import onnx
    >>> from aucmax import AUCClassifier
    >>> from aucmax.models.onnx_export import export_onnx
    >>> clf = AUCClassifier(alpha=0.1).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     export_onnx(clf, f"{folder}/model.onnx")
    ...     graph = onnx.load(f"{folder}/model.onnx").graph
    >>> [output.name for output in graph.output]
    ['score', 'probabilities', 'label']
    """
    try:
        from onnx import TensorProto, helper
    except ImportError:
        raise ImportError("ONNX files need the package onnx: pip install 'aucmax[onnx]'.") from None
    *transformers, classifier = steps = _steps(model)
    table = getattr(steps[0], "reading_", None)
    n_features = steps[0].n_features_in_ if table is None else len(table.parts)
    about = {"aucmax": __version__, "algorithm": " + ".join(map(_kind, steps))}
    about |= _describe_columns(steps[0], feature_names)

    graph = Graph()
    rows = "X"
    for step in transformers:
        rows = TRANSFORMERS[_kind(step)](graph, step, rows)
    label_type = classify(graph, classifier, rows)
    if graph.n_bytes > LARGEST:
        raise ValueError(
            f"An ONNX file holds up to 2 GB, but the arrays of this model take {graph.n_bytes / 1e9:.1f} GB."
        )
    describe = helper.make_tensor_value_info
    made = helper.make_model(
        helper.make_graph(
            graph.nodes,
            "aucmax",
            [describe("X", TensorProto.DOUBLE, [None, n_features])],
            [
                describe("score", TensorProto.DOUBLE, [None]),
                describe("probabilities", TensorProto.DOUBLE, [None, 2]),
                describe("label", label_type, [None]),
            ],
            graph.constants,
        ),
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=FILE_FORMAT,
        producer_name="aucmax",
        producer_version=__version__,
    )
    helper.set_model_props(made, about)
    write_atomically(path, lambda file: file.write(made.SerializeToString()))


def _steps(model: Any) -> list[Any]:
    """Return the steps of a fitted model: its transformers, then its classifier."""
    steps = [model]
    if isinstance(model, Pipeline):
        steps = [step for _, step in model.steps if step is not None and step != "passthrough"]
    for step in steps[:-1]:
        if _kind(step) not in TRANSFORMERS:
            raise ValueError(f"{type(step).__name__} cannot be exported to ONNX, only {', '.join(TRANSFORMERS)} can.")
    if not isinstance(steps[-1], LinearAUCClassifier):
        raise ValueError(f"{type(steps[-1]).__name__} cannot be exported to ONNX, only the classifiers of aucmax can.")
    check_is_fitted(steps[-1], "coef_")
    if len(steps) > 1 and hasattr(steps[-1], "terms_"):
        raise ValueError(f"{type(steps[-1]).__name__} cannot be exported to ONNX after other steps: it reads tables.")
    return steps


def _kind(step: Any) -> str:
    """Return the class of a step, or the base of it that can be exported."""
    names = [kind.__name__ for kind in type(step).__mro__]
    return next((name for name in names if name in TRANSFORMERS), names[0])


def _describe_columns(first: Any, names: Any) -> dict[str, str]:
    """Return the metadata with the names of the columns, if they have some; for a table, also with their levels."""
    if hasattr(first, "reading_"):
        levels = [part.levels for part in first.reading_.parts] if hasattr(first, "terms_") else first.levels_
        return {"feature_names": json.dumps(first.reading_.part_names), "levels": json.dumps(levels)}
    names = getattr(first, "feature_names_in_", None) if names is None else names
    if names is None:
        return {}
    if len(names) != first.n_features_in_:
        raise ValueError(f"feature_names holds {len(names)} names, but the model has {first.n_features_in_} features.")
    return {"feature_names": json.dumps([str(name) for name in names])}


class Graph:
    """A graph under construction: its operations in the order of their making, and the arrays that they use."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.n_bytes = 0

    def add(self, operator: str, *inputs: Any, output: str = "", **attributes: Any) -> str:
        """Add an operation on inputs, given as names or arrays; return the name of its output."""
        from onnx import helper

        output = output or f"{operator}_{len(self.nodes)}"
        names = [each if isinstance(each, str) else self._constant(np.asarray(each)) for each in inputs]
        # onnxruntime 1.20 names nodes that it makes after nodes that it finds, and refuses two of the same name.
        self.nodes.append(helper.make_node(operator, names, [output], name=output, **attributes))
        return output

    def _constant(self, array: np.ndarray) -> str:
        from onnx import numpy_helper

        name = f"constant_{len(self.constants)}"
        if array.dtype.kind == "f":
            array = array.astype(np.float64, copy=False)
        self.constants.append(numpy_helper.from_array(array, name))
        self.n_bytes += array.nbytes
        return name


# The steps. Each adds its operations on the rows of this name, and returns the name of its output.


def read_codes(graph: Graph, step: Any, rows: str) -> str:
    """Add what a ``TableEncoder`` makes of pooled codes: features, or the same codes."""
    if step.output == "codes":
        return rows
    found = []
    for j, part in enumerate(step.reading_.feature_parts):
        found += _read_part(graph, part, graph.add("Gather", rows, np.array([j]), axis=1))
    return graph.add("Concat", *found, axis=1)


def _read_part(graph: Graph, part: FeaturePart, codes: str) -> list[str]:
    """Add the features of one part, given its codes as a column."""
    from onnx import TensorProto

    missing = graph.add("IsNaN", codes)
    if part.levels is None:
        features = graph.add("Where", missing, part.neutral, codes)
    else:
        n_levels = part.n_levels
        chosen = graph.add("Cast", graph.add("Equal", codes, np.arange(float(n_levels))), to=TensorProto.DOUBLE)
        features = graph.add("Where", graph.add("Less", codes, float(n_levels)), chosen, part.average)
        if part.gaps:
            features = graph.add("Where", missing, np.zeros(n_levels), features)
    return [features, graph.add("Cast", missing, to=TensorProto.DOUBLE)] if part.gaps else [features]


def scale(graph: Graph, step: Any, rows: str) -> str:
    """Add a ``StandardScaler``."""
    if step.with_mean:
        rows = graph.add("Sub", rows, step.mean_)
    if step.with_std:
        rows = graph.add("Div", rows, step.scale_)
    return rows


def select(graph: Graph, step: Any, rows: str) -> str:
    """Add a ``SelectKBest``."""
    return graph.add("Gather", rows, step.get_support(indices=True), axis=1)


def rotate(graph: Graph, step: Any, rows: str) -> str:
    """Add a ``PCA``."""
    rows = graph.add("MatMul", graph.add("Sub", rows, step.mean_), step.components_.T)
    if step.whiten:
        rows = graph.add("Div", rows, np.maximum(np.sqrt(step.explained_variance_), np.finfo(np.float64).eps))
    return rows


def project(graph: Graph, step: Any, rows: str) -> str:
    """Add a ``GaussianRandomProjection`` or ``TruncatedSVD``."""
    return graph.add("MatMul", rows, step.components_.T)


def kernel_features(graph: Graph, step: Any, rows: str) -> str:
    """Add a ``KMeansNystroem``."""
    kernel = GaussianKernel(step.components_, step.gamma_, np.dtype(np.float64))
    # No product of a number and the rows: runtimes merge it into the matrix product and round the number to float32.
    Z = graph.add("Sub", rows, kernel.center)
    K = graph.add("Sub", graph.add("MatMul", Z, kernel.unit * kernel.slopes), kernel.norms)
    K = graph.add("Sub", K, graph.add("Mul", graph.add("ReduceSumSquare", Z, [1]), step.gamma_))
    K = graph.add("Exp", graph.add("Min", K, 0.0))
    return graph.add("MatMul", K, step.normalization_)


def classify(graph: Graph, classifier: Any, rows: str) -> int:
    """Add the outputs of a classifier; return the ONNX type of its labels."""
    from onnx import TensorProto

    slope, base_logit = classifier.calibration_
    of_table = hasattr(classifier, "terms_")
    sums = add_terms(graph, classifier, rows) if of_table else graph.add("MatMul", rows, classifier.coef_.T)
    score = graph.add("Add", graph.add("Squeeze", sums, [1]), classifier.intercept_, output="score")
    logits = graph.add("Add", graph.add("Mul", score, slope), base_logit)
    logits = graph.add("Unsqueeze", logits, [1])
    logits = graph.add("Concat", graph.add("Neg", logits), logits, axis=1)
    graph.add("Sigmoid", logits, output="probabilities")
    positive = graph.add("Cast", graph.add("Greater", score, 0.0), to=TensorProto.INT64)
    labels = _labels(classifier.classes_)
    graph.add("Gather", labels, positive, output="label")
    return {"i": TensorProto.INT64, "f": TensorProto.DOUBLE, "O": TensorProto.STRING}[labels.dtype.kind]


def add_terms(graph: Graph, model: Any, rows: str) -> str:
    """Add the sum of the terms of a ``TableClassifier``, shape (n, 1): each is a lookup by the groups of the codes."""
    codes = [
        _code(graph, column, graph.add("Gather", rows, np.array([j]), axis=1))
        for j, column in enumerate(model.columns_)
    ]
    found = []
    for term, values in zip(model.terms_, np.split(model.coef_[0], edges_of(model.terms_)[1:-1]), strict=True):
        table, place = np.pad(values.reshape(term.shape), (0, 1)), ""  # 0 for what the term says nothing of
        for j, group, size in zip(term.columns, term.groups, table.shape, strict=True):
            ours = graph.add("Gather", np.append(group, -1) % size, codes[j])
            place = graph.add("Add", graph.add("Mul", place, size), ours) if place else ours
        found.append(graph.add("Gather", table.ravel(), place))
    return graph.add("Sum", *found)


def _code(graph: Graph, column: Any, x: str) -> str:
    """Add the codes of a column of a ``TableClassifier``, given its values, as integers of shape (n, 1)."""
    from onnx import TensorProto

    unknown = column.n_codes - column.categorical
    if column.categorical:
        levels = column.cuts.astype(np.int64)
        codes = np.full(levels.max(initial=-1) + 2, unknown)  # of all places of levels, and of anything else
        codes[levels] = np.arange(len(levels))
        other = len(codes) - 1
        is_place = graph.add("Equal", x, graph.add("Clip", graph.add("Floor", x), 0.0, other - 1.0))
        place = graph.add("Cast", graph.add("Where", is_place, x, float(other)), to=TensorProto.INT64)
        known = graph.add("Gather", codes, place)
    else:
        above = graph.add("Greater", x, np.append(column.cuts, np.inf))
        known = graph.add("ReduceSum", graph.add("Cast", above, to=TensorProto.INT64), [1])
    return graph.add("Where", graph.add("IsNaN", x), column.n_values if column.missing else unknown, known)


def _labels(classes: np.ndarray) -> np.ndarray:
    """Return the classes as int64 if they are whole numbers, as double if other numbers, and otherwise as strings."""
    if classes.dtype.kind not in "biuf":
        return np.array([label_text(label) for label in classes], dtype=object)
    labels = np.array(classes.tolist())
    as_integers = [int(label) for label in labels]
    if as_integers == labels.tolist() and max(map(abs, as_integers)) < 2**63:
        return np.array(as_integers, dtype=np.int64)
    return labels.astype(np.float64)


TRANSFORMERS = {
    "TableEncoder": read_codes,
    "StandardScaler": scale,
    "SelectKBest": select,
    "PCA": rotate,
    "GaussianRandomProjection": project,
    "TruncatedSVD": project,
    "KMeansNystroem": kernel_features,
}


# How far the scores of an ONNX file are from its model's. Both are computed in double precision, but sums may
# have another order, and a runtime may change the graph. So the difference is measured: onnxruntime scores rows.


class ScoreDifference(NamedTuple):
    """How far the scores of an ONNX file are from the scores of its model."""

    n_rows: int
    largest: float  # difference between the two scores of a row
    low: float  # score of the model
    high: float


def compare_scores(model: Any, path: str | os.PathLike[str], X: Any) -> ScoreDifference:
    """Return the largest difference between the scores of an ONNX file and its model's.

    Parameters
    ----------
    model : estimator
        What the file was made of.
    path : str or path
        The file that :func:`aucmax.models.onnx_export.export_onnx` wrote.
    X : {array-like, sparse matrix, dataframe} of shape (n_samples, n_features)
        Rows as the model takes them, for example the training rows.

    Returns
    -------
    difference : ScoreDifference
        The largest difference, and the range of the scores.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_breast_cancer
    >>> from aucmax import AUCClassifier
    >>> from aucmax.models.onnx_export import compare_scores, export_onnx
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = AUCClassifier(alpha=0.1).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     export_onnx(clf, f"{folder}/model.onnx")
    ...     found = compare_scores(clf, f"{folder}/model.onnx", X)
    >>> bool(found.largest < 1e-9 * (found.high - found.low))
    True
    """
    return measure_difference(path, as_onnx_takes(model, X), model.decision_function(X))


def as_onnx_takes(model: Any, X: Any) -> Any:
    """Return rows as the ONNX file of a model takes them: numbers, with codes of the levels of tables and frames."""
    first = model[0] if isinstance(model, Pipeline) else model
    if hasattr(first, "reading_"):
        codes = first._read(X)
        return codes if hasattr(first, "terms_") else first.reading_.pool(codes)
    return check_indices(X) if sparse.issparse(X) else np.asarray(X, dtype=np.float64)


def measure_difference(path: str | os.PathLike[str], rows: Any, scores: np.ndarray) -> ScoreDifference:
    """Return the largest difference between the scores of an ONNX file and given ones.

    `rows` are as the file takes them, `scores` are the scores that the model gives them.
    """
    try:
        from onnxruntime import InferenceSession
    except ImportError:
        raise ImportError("Scores of ONNX files need the package onnxruntime: pip install onnxruntime.") from None
    session = InferenceSession(os.fspath(path), providers=["CPUExecutionProvider"])
    rows = sparse.csr_array(rows) if sparse.issparse(rows) else rows
    step, largest = max(1, BLOCK // rows.shape[1]), 0.0
    for start in range(0, rows.shape[0], step):
        block = rows[start : start + step]
        block = np.asarray(block.toarray() if sparse.issparse(block) else block, dtype=np.float64)
        (found,) = session.run(["score"], {"X": block})
        difference = np.abs(found - scores[start : start + step])
        if not np.isfinite(difference).all():
            row = start + int(np.argmin(np.isfinite(difference)))
            pair = f"{found[row - start]} in {os.fspath(path)} and {scores[row]} of the model"
            raise ValueError(f"Row {row} has the scores {pair}: they cannot be compared.")
        largest = max(largest, float(difference.max()))
    return ScoreDifference(rows.shape[0], largest, float(scores.min()), float(scores.max()))
