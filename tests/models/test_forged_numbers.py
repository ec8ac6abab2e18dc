"""Model files with numbers that no fit writes: what is computed from them is a finite number, or a sentence."""

import forging
import numpy as np
import pytest
from small_models import EVERY_MODEL, D, X, Y, fit, make

from aucmax import SOLAM, AUCClassifier, TableClassifier, load_model, save_model
from aucmax.papers.engine.epochs import StochasticClassifier

STOCHASTIC = [name for name in EVERY_MODEL if isinstance(make(name), StochasticClassifier)]
STRANGE = (-1.0, 0.0, 1e308)


def arrays_of(state):
    """Yield the arrays of floats of a state."""
    for part in state:
        if isinstance(part, tuple):
            yield from arrays_of(part)
        elif part.dtype.kind == "f" and part.size:
            yield part


def is_refused_or_finite(method, *rows):
    try:
        with np.errstate(all="ignore"):
            return np.isfinite(method(*rows).coef_).all()
    except ValueError as error:
        return "\n" not in str(error)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", STOCHASTIC)
def test_steps_from_any_state_are_finite_or_refused(name, tmp_path):
    save_model(fit(make(name).set_params(max_iter=2), X), tmp_path / "model")
    for k in range(len(list(arrays_of(load_model(tmp_path / "model").state_)))):
        for value in STRANGE:
            model = load_model(tmp_path / "model").set_params(warm_start=True)
            list(arrays_of(model.state_))[k][...] = value
            assert is_refused_or_finite(getattr(model, "partial_fit", model.fit), X, Y)


TOO_LARGE = "X, row 0: its score is not a finite number: its values or the weights are too large."


@pytest.mark.parametrize("method", ["decision_function", "predict", "predict_proba", "predict_log_proba"])
@pytest.mark.parametrize("model", [AUCClassifier("squared", alpha=1), TableClassifier("lines", cv=0)], ids=str)
def test_decision_function_refuses_scores_that_are_not_finite(method, model):
    model = model.fit(X, Y)
    model.coef_ = np.full(model.coef_.shape, -1.7e308)
    model.intercept_ = np.array([-1.7e308])
    with pytest.raises(ValueError, match="not a finite number") as error:
        getattr(model, method)(-X[:1])
    assert str(error.value) == TOO_LARGE


def test_predict_names_the_file_of_rows_with_infinite_scores(refused, tmp_path):
    model = AUCClassifier(alpha=1).fit(X, Y)
    model.coef_ = np.full((1, D), 1.7e308)
    save_model(model, tmp_path / "model")
    np.savez(tmp_path / "rows.npz", X=100 * np.ones((4, D)), y=[0, 1, 0, 1])
    for command, *options in (["predict", "-o", tmp_path / "scores"], ["evaluate"]):
        told = refused(command, tmp_path / "model", tmp_path / "rows.npz", *options)
        assert told == f"{tmp_path / 'rows.npz'}: {TOO_LARGE}"


@pytest.mark.parametrize(
    "change",
    [
        lambda shift: shift.astype(np.float16),
        lambda shift: shift.astype(np.float32),
        lambda shift: shift.astype(">f8"),
        lambda shift: np.repeat(shift, 2)[::2],
        lambda shift: shift[::-1],
    ],
    ids=["half", "single", "other byte order", "strides", "backwards"],
)
def test_arrays_of_compiled_loops_have_one_type_and_order(tmp_path, change):
    model = SOLAM(random_state=0).fit(X, Y)
    model._stream = model._stream._replace(
        scaling=model._stream.scaling._replace(shift=change(model._stream.scaling.shift))
    )
    with pytest.raises(
        ValueError, match=r"^shift of scaling of _stream of SOLAM is an array of \S+ of shape \(12,\), wh"
    ):
        save_model(model, tmp_path / "model")


def test_a_state_in_another_order_is_refused(tmp_path):
    save_model(fit(make("OPAUC"), X), tmp_path / "model")
    about, tensors = forging.open_up((tmp_path / "model").read_bytes())
    fields = about["values"]["dict"]["model"]["attributes"]["state_"]["fields"]
    fields["means"] = {"flipped": fields["means"], "axes": [0]}
    (tmp_path / "model").write_bytes(forging.put_together(about, tensors))
    with pytest.raises(ValueError, match="means of state_ of OPAUC is not in the order of rows"):
        load_model(tmp_path / "model")
