"""What columns add to scores: the sum is the score, and the mean of the training rows is 0."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from test_sql import TABLES, make

from aucmax import AUCClassifier, TableEncoder, contributions

pytestmark = pytest.mark.filterwarnings("ignore:X has (levels|values)")


@pytest.mark.parametrize("name", TABLES)
def test_contributions_of_columns_and_terms_sum_to_the_score(name):
    frame, card, linear = make(name)
    parts = [name.split(" (days before ")[0] for name in card.model.reading_.part_names]  # an age is called as its date
    for model, names in ((linear, [*frame.columns]), (card.model, parts)):
        found = contributions(model, frame)
        assert_allclose(found.values.sum(axis=1) + found.base, model.decision_function(frame), rtol=1e-9, atol=1e-9)
        assert_allclose(found.values.mean(axis=0), 0, atol=1e-7 * (1 + np.abs(found.values).max()))
        assert found.names[: len(names)] == names


def test_contribution_of_a_column_does_not_depend_on_the_others():
    frame, _, linear = make("native")
    other = frame.assign(integer=0, truth=True)
    before, after = contributions(linear, frame), contributions(linear, other)
    same = [name not in ("integer", "truth") for name in before.names]
    assert_allclose(before.values[:, same], after.values[:, same])
    assert np.ptp(after.values[:, np.logical_not(same)], axis=0).max() == 0 < np.ptp(before.values, axis=0).min()


def test_contributions_of_numbers_are_their_weights_times_their_distance():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    clf = AUCClassifier("squared", alpha=0.1).fit(pd.DataFrame(X, columns=["a", "b", "c"]), X[:, 0] > 0)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    found = contributions(clf, frame, reference=X.mean(axis=0))
    assert_allclose(found.values, clf.coef_ * (X - X.mean(axis=0)), rtol=1e-12)
    assert_allclose(found.base, clf.decision_function(pd.DataFrame([X.mean(axis=0)], columns=["a", "b", "c"]))[0])
    assert found.names == ["a", "b", "c"]
    bare = AUCClassifier("squared", alpha=0.1).fit(X, X[:, 0] > 0)
    assert_allclose(contributions(bare, sparse.csr_array(X)).values, bare.coef_ * X, rtol=1e-12)
    assert contributions(bare, X).names == ["x0", "x1", "x2"]


def test_contributions_refuses_what_it_cannot_split():
    X, y = np.arange(12.0)[:, None], np.arange(12) % 2
    with pytest.raises(TypeError, match=r"takes a TableClassifier, or .*, not TableEncoder . LogisticRegression"):
        contributions(make_pipeline(TableEncoder(), LogisticRegression()).fit(X, y), X)
    with pytest.raises(ValueError, match="reference has the shape"):
        contributions(AUCClassifier(alpha=1).fit(X, y), X, reference=[1, 2])
    with pytest.raises(ValueError, match="reference= is for a linear classifier alone"):
        contributions(make_pipeline(TableEncoder(), AUCClassifier(alpha=1)).fit(X, y), X, reference=[1])
