"""Cases of model files: one of every estimator, forged, then read and used as commands and users do.

A file is refused in one sentence that names it, or it holds a model that can be used: its scores are finite numbers,
`partial_fit` or a warm start takes rows or refuses them, and what the commands print has no character that controls a
terminal.
"""

from __future__ import annotations

import contextlib
import functools
import io
import os
import random
import warnings
from typing import Any

import numpy as np
import pandas
from sklearn.pipeline import make_pipeline

from aucmax import ALGORITHMS, AUCClassifier, KMeansNystroem, OPAUCpca, TableClassifier, TableEncoder, save_model
from aucmax.cli.app import main
from aucmax.models.model_file import read_model

from .forging import forge
from .isolation import make_folder

warnings.simplefilter("ignore")
RNG = np.random.RandomState(0)
X = RNG.standard_normal((40, 5))
Y = np.arange(40) % 2
X[Y == 1, :3] += 1
FRAME = pandas.DataFrame(
    {
        "amount": np.where(np.arange(40) % 9, X[:, 0], np.nan),
        "colour": np.where(X[:, 1] > 0, "red", "blue"),
        "paid": np.where(X[:, 2] > 0, "yes", "no"),
        "since": np.datetime64("2021-01-01") + np.arange(40) * 9,
        "firm": [f"firm {k % 45}" for k in range(40)],
    }
)
OF_TABLES = {
    "table": lambda: make_pipeline(TableEncoder(categorical=["firm"]), AUCClassifier("squared", alpha=1)),
    "TableEncoder": lambda: TableEncoder("codes", drop=["firm"]),
    "TableClassifier": lambda: TableClassifier("pairs", pairs=[["amount", "colour"]], cv=2, categorical=["firm"]),
}
OTHERS = {
    **OF_TABLES,
    "AUCClassifier": AUCClassifier,
    "AUCClassifier with moments": lambda: AUCClassifier("squared", solver="moments"),
    "KMeansNystroem": lambda: KMeansNystroem(4, random_state=0),
    "OPAUCpca without centring": lambda: OPAUCpca(3, center=False, random_state=0),
}
LABELS = {
    "days": np.array(["2020-01-01", "2021-01-01"], "M8[D]"),
    "nanoseconds": np.array(["2020-01-01", "2021-01-01"], "M8[ns]"),
    "years": np.array(["2020", "2021"], "M8[Y]"),
    "half floats": np.array([0, 1], np.float16),
    "truth values": np.array([False, True]),
    "text": np.array(["no", "yes"], object),
}
NAMES = [*OTHERS, *ALGORITHMS, *LABELS]
FOLDER = make_folder("models")
PATH = os.path.join(FOLDER, "forged")
ROWS = os.path.join(FOLDER, "rows.npz")
np.savez(ROWS, X=X, y=Y)
TABLE = os.path.join(FOLDER, "rows.csv")
FRAME.assign(y=Y).to_csv(TABLE, index=False)
SOUND = ("ValueError", "NotFittedError", "MemoryError")  # that a user of Python meets


@functools.cache
def original(name: str) -> bytes:
    """Return the file of a fitted model."""
    if name in LABELS:
        model = AUCClassifier("squared", alpha=1)
    elif name in OTHERS:
        model = OTHERS[name]()
    else:
        known = ALGORITHMS[name]().get_params()
        small = {"n_nonzero": 2, "max_iter": 2, "rank": 2, "buffer_size": 5, "random_state": 0}
        if "steps" in known:
            model = ALGORITHMS[name](n_components=3, random_state=0)
        else:
            chosen = {key: value for key, value in small.items() if key in known}
            model = ALGORITHMS[name](**chosen | ({"rank": None} if name == "OPAUC" else {}))
    model.fit(FRAME if name in OF_TABLES else X, LABELS.get(name, np.arange(2))[Y])
    training = {"data": "train.csv", "format": "csv", "n_samples": 40, "n_positive": 20}
    spreads = np.ones(model[-1].n_features_in_) if name == "table" else X.std(axis=0)
    notes = {"training": training, "target": "y", "spreads": spreads}
    path = os.path.join(FOLDER, "original")
    save_model(model, path, **notes)
    with open(path, "rb") as file:
        return file.read()


def run_case(seed: int) -> str:
    """Return the verdict of one forged file."""
    rng = random.Random(seed)
    with open(PATH, "wb") as file:
        file.write(forge(original(NAMES[seed % len(NAMES)]), rng))
    try:
        model = read_model(PATH).model
    except ValueError as error:
        lines = str(error).splitlines()
        return "refused" if len(lines) == 1 and lines[0].startswith(PATH) else f"wrong: said {lines!r}"
    is_table = NAMES[seed % len(NAMES)] in OF_TABLES
    return use(model, FRAME if is_table else X) or run_commands(TABLE if is_table else ROWS, seed) or "read"


def use(model: Any, rows: Any) -> str:
    """Return what is wrong with a model that was read; an empty text if nothing is."""
    for method in ("decision_function", "predict", "predict_proba", "transform"):
        if not hasattr(model, method):
            continue
        found = attempt(getattr(model, method), rows)
        if isinstance(found, str):
            return found
        is_number = found is not None and np.asarray(found).dtype.kind == "f"
        if is_number and np.isnan(found).any() and not is_codes(model):
            return f"wrong: {method} returned NaN"
    labels = model.classes_[Y] if hasattr(model, "classes_") else Y
    found = attempt(model.partial_fit, X[:7], labels[:7]) if hasattr(model, "partial_fit") else None
    if found is None and hasattr(model, "warm_start") and hasattr(model, "max_iter"):
        found = attempt(model.set_params(warm_start=True, max_iter=2).fit, X, labels)
    return found if isinstance(found, str) else ""


def is_codes(model: Any) -> bool:
    """Return whether a model returns codes, which are NaN for missing values."""
    return getattr(model, "output", "") == "codes"


def attempt(method: Any, *arguments: Any) -> Any:
    """Return what a method returns, None if it refuses in a sentence, or a text about an error of another kind."""
    try:
        with np.errstate(all="ignore"):
            return method(*arguments)
    except Exception as error:
        kinds = {kind.__name__ for kind in type(error).__mro__}
        return None if kinds & set(SOUND) else f"wrong: {method.__name__} raised {type(error).__name__}: {error}"


def run_commands(rows: str, seed: int) -> str:
    """Return what is wrong with commands on a file that was read."""
    commands = [["inspect", PATH], ["evaluate", PATH, rows], ["predict", PATH, rows, "--labels", "--proba"]]
    commands.append(["export", PATH, "--onnx", os.path.join(FOLDER, "model.onnx"), "--force"])
    if seed % 50 == 0:  # a report takes as long as a hundred cases
        commands[1] += ["--report", os.path.join(FOLDER, "report.html"), "--force"]
    for arguments in commands:
        out, err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), io.StringIO()
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                main(arguments)
        except SystemExit as leaving:
            status = leaving.code
        out.flush()
        shown = (
            out.buffer.getvalue().decode(errors="replace") if arguments[0] != "predict" else ""
        )  # data, not a screen
        if status not in (0, 2):
            return f"wrong: {arguments[0]} ended with {status}: {err.getvalue().strip()}"
        if not all(c.isprintable() or c == "\n" for c in shown + err.getvalue()):
            return f"wrong: {arguments[0]} printed a control character"
    return ""
