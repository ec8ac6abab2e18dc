"""The benchmark of rows on a device: a tiny run in memory, and the page made from its results. No time is asserted."""

import json

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose

from aucmax import KMeansNystroem
from aucmax.data.arrays import to_numpy
from aucmax_studies.gpu import kernel as gpu_kernel
from aucmax_studies.gpu import measure as gpu

TINY = ["--moments", "300", "4", "--fit", "400", "3", "--scores", "500", "--kernel", "2200", "5", "--landmarks", "40"]


@pytest.mark.filterwarnings("ignore:The cross-validated AUC is highest")
def test_a_tiny_run_measures_everything_and_writes_the_page(tmp_path, monkeypatch):
    pytest.importorskip("array_api_strict")
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    results, page = tmp_path / "gpu.json", tmp_path / "scale.md"
    command = ["--measure", "--library", "array_api_strict", *TINY, "--repeats", "1", "--results", str(results)]
    with sklearn.config_context(array_api_dispatch=True):
        gpu.main(command)
        first = json.loads(results.read_text(encoding="utf-8"))["results"]
        monkeypatch.setattr(gpu, "FOLDS_UP_TO", 45)
        gpu.main([*command[:-2], "--landmarks", "40", "50", "--only", "kernel", *command[-2:]])
    found = json.loads(results.read_text(encoding="utf-8"))["results"]
    assert found[:6] == first[:6]
    assert [result["what"].startswith("kernel") for result in found] == [False] * 6 + [True] * 2
    assert found[6]["alpha"] == found[7]["alpha"]  # given
    for result in found:
        assert result["seconds"] > 0
        assert result.get("processor", 1) > 0
        assert result.get("difference", 0) < (1e-6 if "AUCClassifier()" in result["what"] else 1e-10)
    kernel = found[-1]
    assert kernel["auc"] > kernel["linear_auc"] + 0.1
    assert not kernel["landmarks_seconds"] > kernel["seconds"]
    page.write_text("before\n<!-- gpu -->\nold\n<!-- end gpu -->\nafter\n", encoding="utf-8")
    for _ in range(2):
        gpu.main(["--results", str(results), "--write", str(page)])
    text = page.read_text(encoding="utf-8")
    assert text.startswith("before\n<!-- gpu -->\n\n")
    assert text.endswith("<!-- end gpu -->\nafter\n")
    assert "old" not in text
    assert all(text.count(f"| {result['what']} |") == 1 for result in found)


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
