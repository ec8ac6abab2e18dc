"""Held-out AUCs of additive models do not flatter, though strengths are found on all rows."""

import numpy as np
import pytest
from additive_data import CATEGORICAL, mixed_rows

from aucmax import AdditiveAUCClassifier, AUCClassifier
from aucmax.rows.memory import MemoryRows
from aucmax.tables.optimism import find_optimism

FAST = {"max_bins": 32, "categorical_features": [2]}


def noise(seed, n=200):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.standard_normal((n, 3)), rng.exponential(1, n), rng.integers(0, 30, n)])
    X[:, 2] = rng.integers(0, 3, n)
    return X, (rng.random(n) < 0.4).astype(int)


def held_out(seed):
    X, y = noise(seed)
    additive = AdditiveAUCClassifier(**FAST).fit(X, y)
    linear = AUCClassifier().fit(np.column_stack([X[:, [0, 1, 3, 4]], X[:, [2]] == [0, 1]]), y)
    return additive.cv_auc_, additive.optimism_, linear.cv_auc_


def test_optimism_of_shuffled_labels_leaves_the_linear_auc():
    additive, optimism, linear = np.array([held_out(seed) for seed in range(20)]).T
    error = np.std(additive - linear) / np.sqrt(20)
    assert np.mean(additive) < np.mean(linear) + 2 * error
    assert abs(np.mean(additive) - 0.5) < 0.03
    assert np.mean(additive + optimism) > np.mean(linear) + 2 * error  # it would flatter


def test_optimism_leaves_the_auc_of_new_rows():
    X_test, y_test = mixed_rows(4000, seed=99)
    found = []
    for seed in range(5):
        model = AdditiveAUCClassifier(**FAST).fit(*mixed_rows(400, seed))
        found.append((model.cv_auc_, model.optimism_, model.score(X_test, y_test)))
    held, optimism, test = np.array(found).T
    assert abs(np.mean(held - test)) < 2 * np.std(held - test) / np.sqrt(5) + 0.005
    assert np.mean(optimism) < 0.02


def test_optimism_is_subtracted_from_all_held_out_aucs():
    X, y = noise(1)
    model = AdditiveAUCClassifier(**FAST).fit(X, y)
    results = model.cv_results_
    assert model.optimism_ > 0
    np.testing.assert_allclose(model.cv_auc_ci_.mean(), model.cv_auc_)
    assert model.blend_["auc"].max() <= results["mean_test_score"].max() + 1e-12
    splits = [results[name] for name in results if name.startswith("split")]
    np.testing.assert_allclose(np.mean(splits, axis=0), results["mean_test_score"])


def test_optimism_needs_cross_validation():
    X, y = noise(1)
    model = AdditiveAUCClassifier(**FAST).fit(X, y)
    assert not hasattr(model.set_params(alpha=0.1).fit(X, y), "optimism_")


@pytest.mark.parametrize("cv", [3, None, [(np.arange(120), np.arange(120, 200))]], ids=["3", "None", "own"])
def test_find_optimism_with_folds_of_all_kinds(cv):
    X, y = noise(2)
    rows = MemoryRows(X, y, np.array([0, 1]))
    assert 0 <= find_optimism(rows, np.arange(5) == 2, 1, np.zeros(5), cv) < 0.3
    assert AdditiveAUCClassifier("squared", cv=cv, **FAST).fit(X, y).optimism_ >= 0


def test_optimism_of_any_order_of_columns():
    X, y = mixed_rows(300, seed=5)
    found = [
        find_optimism(MemoryRows(X[:, order], y, np.array([0, 1])), CATEGORICAL[order], 0, np.zeros(4), 5)
        for order in ([0, 1, 2, 3], [3, 2, 1, 0])
    ]
    np.testing.assert_allclose(*found, atol=1e-6)
