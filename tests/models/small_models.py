"""Small rows, every estimator fitted to them, and equality to the last bit."""

import functools
import struct
import warnings

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from aucmax import ALGORITHMS, AUCClassifier, KMeansNystroem, OPAUCpca, TableClassifier, TableEncoder

RNG = np.random.RandomState(0)
N, D = 90, 12
Y = (RNG.random_sample(N) < 0.4).astype(int)
X = RNG.standard_normal((N, D)) * np.arange(1, D + 1) + Y[:, None] + 3
SPARSE = sparse.csr_array(np.where(RNG.random_sample((N, D)) < 0.4, X, 0))


def assert_same(first, second):
    """Assert that two values are the same to the last bit, types included."""
    assert type(first) is type(second)
    if isinstance(first, np.ndarray | np.generic):
        assert (first.dtype, first.shape) == (second.dtype, second.shape)
        if first.dtype == object:
            assert_same(first.ravel().tolist(), second.ravel().tolist())
        else:
            assert first.tobytes() == second.tobytes()
            assert np.asarray(first).flags.f_contiguous == np.asarray(second).flags.f_contiguous
            assert [step < 0 for step in first.strides] == [step < 0 for step in second.strides]
    elif isinstance(first, float):
        assert struct.pack("d", first) == struct.pack("d", second)
    elif isinstance(first, list | tuple):
        assert len(first) == len(second)
        for pair in zip(first, second, strict=True):
            assert_same(*pair)
    elif isinstance(first, dict):
        assert list(first) == list(second)
        assert_same(list(first.values()), list(second.values()))
    elif isinstance(first, np.random.RandomState):
        assert_same(first.get_state(), second.get_state())
    elif isinstance(first, functools.partial):
        assert (first.func, first.args) == (second.func, second.args)
        assert_same(first.keywords, second.keywords)
    elif sparse.issparse(first):
        assert first.shape == second.shape
        assert_same([first.data, first.indices, first.indptr], [second.data, second.indices, second.indptr])
    elif hasattr(first, "__dict__"):
        kept = [{name: value for name, value in vars(one).items() if name != "history_"} for one in (first, second)]
        assert_same(*kept)  # model files have no history
    else:
        assert first == second


OTHERS = {
    "AUCClassifier": AUCClassifier,
    "TableClassifier": lambda: TableClassifier("pairs", pairs=[[0, 1]], cv=2),
    "AUCClassifier with moments": lambda: AUCClassifier("squared", solver="moments"),
    "TableEncoder": TableEncoder,
    "KMeansNystroem": lambda: KMeansNystroem(5, random_state=0),
    "OPAUCpca without centring": lambda: OPAUCpca(5, center=False, random_state=0),
}
EVERY_MODEL = [*OTHERS, *ALGORITHMS]


def make(name):
    """Return an estimator that is quickly fitted to X."""
    if name in OTHERS:
        return OTHERS[name]()
    parameters = ALGORITHMS[name]().get_params()
    if "steps" in parameters:
        return ALGORITHMS[name](n_components=5, random_state=0)
    small = {"n_nonzero": 3, "max_iter": 2} | ({} if name == "OPAUC" else {"rank": 4})
    return ALGORITHMS[name](**{key: value for key, value in small.items() if key in parameters})


def fit(model, rows=X, labels=Y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(rows, labels)
    if hasattr(model, "ladder_"):
        model.ladder_["seconds"][:] = np.nan  # files have no times
    return model


def outputs(model, rows):
    """Return everything that a fitted model says about rows."""
    methods = ("decision_function", "predict", "predict_proba", "transform")
    return {method: getattr(model, method)(rows) for method in methods if hasattr(model, method)}
