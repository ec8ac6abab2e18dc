"""Additive models of raw frames, after a `TableEncoder`."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.pipeline import make_pipeline

from aucmax import AdditiveAUCClassifier, Scorecard, TableEncoder

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
MODEL = AdditiveAUCClassifier("squared", alpha=0.1, max_bins=8)


def draw_homes(n_rows=400):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"size": rng.normal(size=n_rows), "home": rng.choice(["boat", "own", "rent", "tent"], n_rows)})
    return X, (np.isin(X["home"], ["boat", "rent"]) + rng.normal(size=n_rows) > 0.5).astype(int)


@pytest.mark.parametrize("lazy", [False, pytest.param(True, marks=pytest.mark.dask)], ids=["pandas", "dask"])
def test_levels_are_known_to_the_model_after_the_encoder(lazy):
    X, y = draw_homes()
    encoder = TableEncoder("codes")
    codes = np.asarray(encoder.fit_transform(X, y))
    expected = AdditiveAUCClassifier(**MODEL.get_params() | {"categorical_features": [1]}).fit(codes, y)
    if lazy:
        dd = pytest.importorskip("dask.dataframe")
        X, y = dd.from_pandas(X, npartitions=2), dd.from_pandas(pd.Series(y), npartitions=2)
    pipeline = make_pipeline(TableEncoder("codes"), MODEL).fit(X, y)
    assert_array_equal(pipeline[-1].is_categorical_, [False, True])
    assert_allclose(pipeline[-1].coef_, expected.coef_, rtol=0, atol=1e-12)
    levels = [entry.values for entry in Scorecard(pipeline).table() if entry.column == "home"]
    assert levels == ["boat", "own", "rent", "tent"]


def test_parts_of_codes_do_not_claim_to_know_their_columns():
    codes = TableEncoder("codes").fit_transform(*draw_homes())
    assert codes.categorical.tolist() == [False, True]
    assert codes[:, ::-1].categorical is None
    assert codes.copy().categorical is None


def test_columns_of_text_are_told():
    X, y = draw_homes()
    advice = r'put TableEncoder before this estimator, as in make_pipeline\(TableEncoder\("codes"\), Additive'
    with pytest.raises(ValueError, match=f"^X has columns that are not numbers, such as 'home': {advice}"):
        AdditiveAUCClassifier().fit(X, y)
    assert AdditiveAUCClassifier(categorical_features=["home"]).fit(X, y).score(X, y) > 0.6
