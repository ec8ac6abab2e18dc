"""The study of rows on a device: what it is compared with is right."""

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose

from aucmax import KMeansNystroem
from aucmax.rows.arrays import to_numpy
from aucmax_studies.gpu import kernel as gpu_kernel
from aucmax_studies.gpu import measure as gpu


def test_the_plain_fit_beside_kernel_rankings_is_right():
    xp = pytest.importorskip("array_api_strict")
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 3))
    y = X[:, 0] * X[:, 1] > 0.3
    kernel = KMeansNystroem(10, random_state=0).fit(X)
    features, alpha = kernel.transform(X), 0.1
    with sklearn.config_context(array_api_dispatch=True):
        found = gpu_kernel.plain_weights(gpu_kernel.plain_sums(xp.asarray(X), xp.asarray(y), kernel), alpha)
        assert (
            gpu_kernel.time_plain(gpu.Library("array_api_strict"), xp.asarray(X), xp.asarray(y), kernel, alpha)["torch"]
            > 0
        )
    M = sum(np.cov(features[side].T, bias=True) for side in (y, ~y))
    delta = features[y].mean(axis=0) - features[~y].mean(axis=0)
    assert_allclose(to_numpy(found), np.linalg.solve(M + alpha * np.trace(M) / 10 * np.eye(10), delta), rtol=1e-8)
