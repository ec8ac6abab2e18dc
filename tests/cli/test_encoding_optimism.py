"""Held-out AUCs of fits with target-encoded columns do not flatter."""

import numpy as np
import pytest

from aucmax import AdditiveAUCClassifier, AUCClassifier
from aucmax.cli.fit import fit_in_memory
from aucmax.cli.table_model import split_model
from aucmax.files import open_source
from aucmax.search.optimism import subtract_optimism

MODELS = {
    "linear": (lambda source: AUCClassifier("squared"), "features"),
    "additive": (
        lambda source: AdditiveAUCClassifier("squared", max_bins=32, categorical_features=source.categorical),
        "codes",
    ),
}


def write_table(path, seed, effect):
    rng = np.random.default_rng(seed)
    y = rng.random(1000) < 0.4
    employer = np.where(rng.random(1000) < effect * y, rng.integers(0, 20, 1000), rng.integers(0, 250, 1000))
    size = rng.standard_normal(1000)
    rows = zip(employer, size, y, strict=True)
    path.write_text("employer,size,y\n" + "".join(f"e{e},{s:.4f},{int(c)}\n" for e, s, c in rows), encoding="utf-8")
    return y


def held_out(path, make, output):
    source = open_source(path, with_target=True, output=output)
    model = split_model(fit_in_memory(make(source), source, None).file.model)[1]
    return float(model.cv_results_["mean_test_score"].max())


@pytest.mark.parametrize("kind", MODELS)
def test_fit_on_rates_of_useless_levels_has_an_auc_of_one_half(kind, tmp_path, monkeypatch):
    honest, optimism = [], []

    def recorded(model, found):
        optimism.append(found)
        subtract_optimism(model, found)

    monkeypatch.setattr("aucmax.cli.table_model.subtract_optimism", recorded)
    for seed in range(5):
        write_table(tmp_path / "t.csv", seed, effect=0.0)
        honest.append(held_out(tmp_path / "t.csv", *MODELS[kind]))
    assert abs(np.mean(honest) - 0.5) < 2 * np.std(honest) / np.sqrt(5) + 0.012  # the best of several alphas
    assert np.mean(optimism) > 0.002


def test_fit_on_rates_of_useful_levels_keeps_its_auc(tmp_path):
    write_table(tmp_path / "t.csv", 0, effect=0.9)
    assert held_out(tmp_path / "t.csv", *MODELS["linear"]) > 0.7


def test_several_files_have_the_folds_of_their_own_rows(tmp_path):
    write_table(tmp_path / "a.csv", 0, effect=0.5)
    write_table(tmp_path / "b.csv", 1, effect=0.5)
    source = open_source([tmp_path / "a.csv", tmp_path / "b.csv"], with_target=True, output="codes")
    codes, folds = source.codes()
    np.testing.assert_array_equal(source.reading.encode_levels(codes, folds), source.read().features)
