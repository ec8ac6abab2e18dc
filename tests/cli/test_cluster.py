"""``aucmax fit --cluster``: each file is a partition, and the model is that of one process."""

import numpy as np
import pytest
from problems import noisy_line
from sklearn.datasets import dump_svmlight_file

from aucmax import AUCClassifier, load_model
from aucmax.cli import fit

pytestmark = [pytest.mark.dask, pytest.mark.slow]


@pytest.fixture
def pattern(tmp_path):
    X, y = noisy_line(n=90, d=3)
    labels = np.where(y == 1, "yes", "no")
    for number, rows in enumerate(np.split(np.arange(90), [30, 75])):
        lines = [",".join([*map(repr, X[i].tolist()), labels[i], str(i % 3)]) for i in rows]
        (tmp_path / f"part-{number}.csv").write_text("\n".join(["a,b,c,label,w", *lines]), encoding="utf-8")
    return tmp_path / "part-*.csv"


def test_fit_with_cluster_is_the_fit_of_one_process(pattern, tmp_path, run):
    models = []
    for where in ([], ["--cluster", "local"]):
        path = tmp_path / f"model-{len(where)}.safetensors"
        options = ["--weight", "w", "--loss", "squared", "--cv", "3", "--positive", "no", "--quiet"]
        assert run("fit", pattern, "-o", path, *options, *where)[0] == 0
        models.append(load_model(path))
    assert models[1].feature_names_in_.tolist() == ["a", "b", "c"]
    expected, found = (model[-1] for model in models)
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-9)
    np.testing.assert_array_equal(found.classes_, expected.classes_)


def test_fit_with_cluster_of_files_of_different_widths(tmp_path, run, cluster):
    X, y = noisy_line(n=90, d=3)
    X[:30, 2] = 0
    for number, rows in enumerate(np.split(np.arange(90), [30, 75])):
        dump_svmlight_file(X[rows], y[rows], str(tmp_path / f"part-{number}.libsvm"), zero_based=False)
    path = tmp_path / "model.safetensors"
    options = ["--cluster", cluster.scheduler_address, "--alpha", "0.1", "--quiet"]
    assert run("fit", tmp_path / "part-*.libsvm", "-o", path, *options)[0] == 0
    np.testing.assert_allclose(load_model(path).coef_, AUCClassifier(alpha=0.1).fit(X, y).coef_, rtol=1e-9)


def test_fit_with_cluster_names_the_faulty_file(pattern, tmp_path, refused, cluster):
    file = tmp_path / "part-1.csv"
    file.write_text(file.read_text(encoding="utf-8") + "\n1,x,3,yes,1\n", encoding="utf-8")
    options = ["--cluster", cluster.scheduler_address, "--quiet", "-o", tmp_path / "model"]
    error = refused("fit", pattern, "--weight", "w", *options)
    assert error.startswith(f"{file}, line 47, column 'b': ")


def test_fit_with_cluster_refuses_options(pattern, tmp_path, refused, monkeypatch, cluster):
    monkeypatch.setattr(fit, "SECONDS", 0.2)
    nobody = ["--cluster", "tcp://127.0.0.1:1", "--quiet", "-o", tmp_path / "model"]
    assert refused("fit", pattern, *nobody).startswith("No Dask scheduler answers at tcp://127.0.0.1:1")
    assert refused("fit", pattern, "--cluster", "local", "--checkpoint", tmp_path / "c").startswith(
        "--cluster needs files that workers can open"
    )
    options = ["--cluster", cluster.scheduler_address, "--quiet", "-o", tmp_path / "model"]
    message = "The stochastic algorithms and partial_fit take one row after the other"
    assert message in refused("fit", pattern, "--algorithm", "SOLAM", *options)
