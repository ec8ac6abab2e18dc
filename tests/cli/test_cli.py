"""Every command end to end, on files, with its exit status and what it says."""

import bz2
import gzip
import io
import json
import lzma
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from rich.console import Console as RichConsole
from sklearn.base import BaseEstimator
from sklearn.datasets import dump_svmlight_file, load_breast_cancer, load_digits
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from aucmax import BAM, OPAUC, AUCClassifier, load_model, roc_auc
from aucmax.cli import console
from aucmax.cli.app import main
from aucmax.cli.commands.compare import split_names
from aucmax.cli.console import format_bytes
from aucmax.cli.display import HELD_OUT, TEXTS, describe_fitted
from aucmax.cli.fit import fit_arguments
from aucmax.files import Block, open_source
from aucmax.models.model_file import read_model
from aucmax.report.displays.path import chosen_index
from aucmax.rows.file import FileRows

X, Y = load_breast_cancer(return_X_y=True)
TRAIN, TEST = slice(0, 400), slice(400, None)
NAMES = [name.replace(" ", "_") for name in load_breast_cancer().feature_names]


def write_csv(path, rows, labels=("malignant", "benign"), columns=NAMES, target="diagnosis"):
    lines = [",".join([*columns, target])]
    lines += [",".join([*map(repr, x.tolist()), labels[c]]) for x, c in zip(X[rows], Y[rows], strict=True)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with the same rows in every format, and a model."""
    folder = tmp_path_factory.mktemp("files")
    write_csv(folder / "train.csv", TRAIN)
    write_csv(folder / "test.csv", TEST)
    dump_svmlight_file(X[TRAIN], Y[TRAIN], str(folder / "train.libsvm"), zero_based=False)
    dump_svmlight_file(X[TEST], Y[TEST], str(folder / "test.libsvm"), zero_based=False)
    np.savez(folder / "train.npz", X=X[TRAIN], y=Y[TRAIN])
    for suffix, module in ((".gz", gzip), (".bz2", bz2), (".xz", lzma)):
        with module.open(folder / f"train.libsvm{suffix}", "wb") as file:
            file.write((folder / "train.libsvm").read_bytes())
    import pyarrow
    import pyarrow.parquet

    table = {name: X[TRAIN, j] for j, name in enumerate(NAMES)} | {"target": Y[TRAIN]}
    pyarrow.parquet.write_table(pyarrow.table(table), folder / "train.parquet")
    with pytest.raises(SystemExit):
        main(["fit", str(folder / "train.csv"), "--target", "diagnosis", "-o", str(folder / "csv.safetensors"), "-q"])
    with pytest.raises(SystemExit):
        main(["fit", str(folder / "train.libsvm"), "-o", str(folder / "libsvm.safetensors"), "-q"])
    return folder


def last_step(model):
    """Return the classifier of a model of a table, which comes after the encoder, or of another model."""
    return model[-1] if isinstance(model, Pipeline) else model


# fit


@pytest.mark.parametrize(
    "name",
    [
        "train.csv",
        "train.libsvm",
        "train.libsvm.gz",
        "train.libsvm.bz2",
        "train.libsvm.xz",
        "train.npz",
        "train.parquet",
    ],
)
def test_fit_gives_the_same_model_from_every_format(run, folder, tmp_path, name):
    target = ["--target", "diagnosis", "--positive", "benign"] if name == "train.csv" else []
    status, out, err = run("fit", folder / name, "-o", tmp_path / "model.safetensors", "--alpha", 0.1, *target)
    assert (status, err) == (0, "")
    assert "400 rows, " in out
    assert f"wrote {tmp_path / 'model.safetensors'}" in out
    model = last_step(load_model(tmp_path / "model.safetensors"))
    np.testing.assert_allclose(model.coef_, AUCClassifier(alpha=0.1).fit(X[TRAIN], Y[TRAIN]).coef_, rtol=1e-9)
    assert model.classes_.tolist() == (["malignant", "benign"] if name == "train.csv" else [0, 1])


def test_fit_from_standard_input(run, folder, tmp_path, monkeypatch):
    text = (folder / "train.libsvm").read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text), encoding="utf-8"))
    status, _, err = run("fit", "-", "-o", tmp_path / "model.safetensors", "--alpha", 0.1)
    assert (status, err) == (0, "")
    expected = AUCClassifier(alpha=0.1).fit(X[TRAIN], Y[TRAIN]).coef_
    np.testing.assert_allclose(load_model(tmp_path / "model.safetensors").coef_, expected, rtol=1e-9)


def test_the_default_fit_is_that_of_the_classifier(run, folder, tmp_path):
    arguments = ["--test", folder / "test.libsvm", "--report", tmp_path / "report.html", "--json"]
    status, out, err = run("fit", folder / "train.libsvm", "-o", tmp_path / "model.safetensors", *arguments)
    assert (status, err) == (0, "")
    told, clf = json.loads(out), AUCClassifier().fit(X[TRAIN], Y[TRAIN])
    assert told["method"] == "AUCClassifier"
    assert told["fitted"]["loss"] == clf.loss_
    assert told["fitted"]["cross_validated_auc"] == pytest.approx(clf.cv_auc_)
    assert told["fitted"]["cross_validated_auc_interval"] == pytest.approx(clf.cv_auc_ci_)
    names = {"loss": "loss", "standardize": "standardize", "alpha": "alpha", "share": "share", "auc": HELD_OUT}
    for name, key in names.items():
        values = [member[key] for member in told["blend"]]
        assert values == (pytest.approx(clf.blend_[name]) if name != "loss" else clf.blend_[name].tolist())
    assert told["test"]["auc"] == pytest.approx(clf.score(X[TEST], Y[TEST]))
    assert told["test"]["n_samples"] == 169
    assert told["training"]["by_blocks"] is False
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert f"{clf.score(X[TEST], Y[TEST]):.4f}"[:5] in page
    assert "Shares of the blend" in page


# Blends


def table_of(model):
    """Return the lines of the table of a blend, parted at two blanks or more."""
    rows = zip(*(model.blend_[name].tolist() for name in ("loss", "standardize", "alpha", "share", "auc")), strict=True)
    lines = [
        [loss, "standardised" if scaled else "unscaled", f"{alpha:.4g}", f"{share:.1%}", f"{auc:.4f}"]
        for loss, scaled, alpha, share, auc in rows
    ]
    return [["loss", "columns", "alpha", "share", "chosen by AUC"], *lines]


def held_out_text(model):
    """Return the cross-validated AUC and its interval, as people read them."""
    return "{} {:.3f} ({:.3f} to {:.3f})".format(TEXTS[HELD_OUT], model.cv_auc_, *model.cv_auc_ci_)


def parted(text):
    return [re.split(r"\s{2,}", line.strip()) for line in text.splitlines()]


def test_a_blend_is_a_table_of_its_members(run, folder, tmp_path):
    status, out, _ = run("fit", folder / "train.libsvm", "-o", tmp_path / "m")
    assert status == 0
    model = load_model(tmp_path / "m")
    n_members = len(model.blend_["share"])
    assert n_members > 1
    assert out.startswith(f"AUCClassifier, blend of {n_members} candidates, {held_out_text(model)}, ")
    lines = parted(out)
    assert lines[2:-1] == table_of(model)
    told = parted(run("inspect", tmp_path / "m", "--top", 0)[1])
    assert ["blend", f"of {n_members} candidates"] in told
    assert told[-n_members - 1 :] == table_of(model)
    values = json.loads(run("inspect", tmp_path / "m", "--json")[1])
    assert [member["share"] for member in values["blend"]] == model.blend_["share"].tolist()
    assert sum(member["share"] for member in values["blend"]) == pytest.approx(1)
    assert "alpha" not in values["fitted"]


@pytest.mark.parametrize("options", [["--selection", "best"], ["--selection", "best", "--no-standardize"]], ids=str)
def test_fit_prints_the_best_candidate_in_one_line(run, folder, tmp_path, options):
    arguments = ["fit", folder / "train.libsvm", "-o", tmp_path / "m", *options, "--report", tmp_path / "report.html"]
    status, out, _ = run(*arguments)
    assert status == 0
    model = load_model(tmp_path / "m")
    best = model.cv_results_["params"][int(np.argmax(model.cv_results_["mean_test_score"]))]
    assert best["standardize"] is ("--no-standardize" not in options)
    columns = "standardised" if best["standardize"] else "unscaled"
    told = f"loss {best['loss']}, alpha {best['alpha']:.6g}, columns {columns}, {held_out_text(model)}"
    assert out.startswith(f"AUCClassifier, {told}, ")
    assert [line.split()[0] for line in out.splitlines()] == ["AUCClassifier,", "400", "wrote"]
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert f"{best['loss']} is chosen" in page
    assert "Shares of the blend" not in page
    trained = f"<dt>AUC of the training rows</dt><dd>{roc_auc(Y[TRAIN], model.decision_function(X[TRAIN])):.4f}</dd>"
    assert f"<strong>{model.cv_auc_:.4f}</strong>" in page  # without test rows, the cross-validated AUC
    assert trained in page
    assert "cross-validated, 95% confidence: {:.4f} to {:.4f}</span>".format(*model.cv_auc_ci_) in page
    assert page.count("% confidence: ") == 1


def test_fit_of_a_named_loss_has_no_blend(run, folder, tmp_path):
    arguments = ["fit", folder / "train.libsvm", "-o", tmp_path / "m", "--loss", "pooled", "--json"]
    told = json.loads(run(*arguments, "--report", tmp_path / "report.html")[1])
    clf = AUCClassifier("pooled").fit(X[TRAIN], Y[TRAIN])
    assert told["blend"] == []
    assert told["fitted"]["loss"] == "pooled"
    assert told["fitted"]["alpha"] == pytest.approx(clf.alpha_)
    assert told["fitted"][HELD_OUT] == pytest.approx(clf.cv_auc_)
    assert "standardize" not in told["fitted"]
    assert f"alpha = {clf.alpha_:.4g} is chosen" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_an_alpha_that_was_not_cross_validated_has_no_auc():
    """`partial_fit` adds rows that the AUC knows nothing of, and takes another alpha where one is given."""
    clf = AUCClassifier("squared").fit(X[TRAIN], Y[TRAIN])
    assert clf.alpha_ == clf.cv_results_["param_alpha"][chosen_index(clf)]
    assert describe_fitted(clf)[HELD_OUT] == clf.cv_auc_
    clf.partial_fit(X[TEST], Y[TEST])
    assert HELD_OUT not in describe_fitted(clf)
    clf.set_params(alpha=0.123).partial_fit(X[TEST], Y[TEST])
    assert chosen_index(clf) is None
    assert HELD_OUT not in describe_fitted(clf)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "parameters"),
    [
        (["--loss", "logistic", "--alpha", "0.5"], {"loss": "logistic", "alpha": 0.5}),
        (["--penalty", "l1", "--cv", "3"], {"penalty": "l1", "cv": 3}),
        (
            ["--penalty", "elasticnet", "--l1-ratio", "0.9", "--alpha", "0.01"],
            {"penalty": "elasticnet", "l1_ratio": 0.9},
        ),
        (["--n-nonzero", "3", "--alpha", "0.1"], {"n_nonzero": 3}),
        (["--n-nonzero", "3", "--n-nonzero", "5", "--alpha", "0.1"], {"n_nonzero": [3, 5]}),
        (["--alpha", "0.1"], {"standardize": "auto", "selection": "blend"}),
        (["--standardize", "--alpha", "0.1"], {"standardize": True}),
        (["--no-standardize", "--alpha", "0.1"], {"standardize": False}),
        (["--selection", "best"], {"selection": "best"}),
        (["--loss", "smooth_auc", "--alpha", "0.1"], {"loss": "smooth_auc"}),
        (["--loss", "balanced_logistic", "--alpha", "0.1"], {"loss": "balanced_logistic"}),
        (["--algorithm", "SOLAM(max_iter=3)", "--seed", "5"], {"max_iter": 3, "random_state": 5}),
        (["--algorithm", "RegSOLAM", "--alpha", "0.3"], {"alpha": 0.3, "random_state": 0}),
    ],
)
def test_options_of_fit_become_parameters(run, folder, tmp_path, options, parameters):
    status, _, err = run("fit", folder / "train.libsvm", "-o", tmp_path / "model.safetensors", *options)
    assert (status, err) == (0, "")
    known = load_model(tmp_path / "model.safetensors").get_params()
    assert {name: known[name] for name in parameters} == parameters


@pytest.mark.slow
def test_a_kernel_pipeline_is_fitted_kept_and_used(run, folder, tmp_path):
    model = tmp_path / "model.safetensors"
    assert run("fit", folder / "train.csv", "--target", "diagnosis", "--algorithm", "NPSAM", "-o", model, "-q")[0] == 0
    status, out, _ = run("evaluate", model, folder / "test.csv", "--json")
    assert status == 0
    assert json.loads(out)["auc"] > 0.9
    assert "KMeansNystroem + ShrinkingScaler + PSAM" in run("inspect", model)[1]


@pytest.mark.parametrize("option", ["--memory", "--checkpoint"])
@pytest.mark.parametrize(
    ("algorithm", "clf"),
    [
        (["--loss", "auto"], AUCClassifier()),
        (["--loss", "auto", "--cv", "3"], AUCClassifier(cv=3)),
        (["--alpha", "0.1"], AUCClassifier(alpha=0.1)),
        (["--loss", "logistic", "--alpha", "0.1"], AUCClassifier("logistic", alpha=0.1)),
        (["--algorithm", "BAM"], BAM()),
        (["--algorithm", "OPAUC(max_iter=2)"], OPAUC(max_iter=2, shuffle=False, random_state=0)),
    ],
    ids=str,
)
def test_a_fit_by_blocks_is_the_one_in_memory(run, folder, tmp_path, option, algorithm, clf):
    value, model = "10MB" if option == "--memory" else tmp_path / "checkpoint", tmp_path / "model"
    arguments = ["--target", "diagnosis", option, value, *algorithm, "-o", model]
    status, _, err = run("fit", folder / "train.csv", *arguments)
    assert status == 0
    in_order = "; rows are taken in the order of the file" if isinstance(clf, OPAUC) else ""
    size = format_bytes((folder / "train.csv").stat().st_size)
    assert err == f"{folder / 'train.csv'}: {size}, read by blocks{in_order}\n"
    assert os.listdir(tmp_path) == ["model"]
    encoder, by_blocks = load_model(model)
    clf.fit(X[TRAIN], 1 - Y[TRAIN])  # malignant is the larger label
    np.testing.assert_allclose(by_blocks.coef_, clf.coef_, rtol=0, atol=1e-8 * np.abs(clf.coef_).max())
    assert getattr(by_blocks, "loss_", None) == getattr(clf, "loss_", None)
    assert by_blocks.classes_.tolist() == ["benign", "malignant"]
    assert encoder.get_feature_names_out().tolist() == NAMES


def test_one_of_many_labels_against_the_others(run, tmp_path):
    digits, y = load_digits(return_X_y=True)
    np.savez(tmp_path / "digits.npz", X=digits, y=y)
    model = tmp_path / "model.safetensors"
    assert run("fit", tmp_path / "digits.npz", "-o", model, "--positive", "8", "--alpha", "1")[0] == 0
    expected = AUCClassifier(alpha=1.0).fit(digits, y == 8).score(digits, y == 8)
    status, out, _ = run("evaluate", model, tmp_path / "digits.npz", "--json")
    assert status == 0
    assert json.loads(out)["auc"] == pytest.approx(expected)
    assert load_model(model).classes_.tolist() == ["other", "8"]


@pytest.mark.parametrize("label", ["9007199254740993", "18446744073709551615", "18446744073709551616", "1e300"])
def test_labels_of_libsvm_text_may_be_numbers_of_any_size(run, tmp_path, label):
    path, model = tmp_path / "rows.libsvm", tmp_path / "model"
    lines = [f"{label if k % 3 else -1} 1:{k % 3}.5 2:{k * k % 7}\n" for k in range(30)]
    path.write_text("".join(lines), encoding="utf-8")
    for options in ([], ["--positive", label]):
        assert run("fit", path, "-o", model, "--alpha", "1", "--force", *options)[0] == 0
        assert load_model(model).classes_.tolist() == [-1, float(label)]
        status, out, _ = run("predict", model, path, "--labels")
        assert status == 0
        assert {float(line.split(",")[-1]) for line in out.splitlines()[1:]} == {-1, float(label)}


@pytest.mark.parametrize("kind", ["csv", "parquet", "npz"])
@pytest.mark.parametrize("label", [2**53, 2**53 + 1, 2**63 - 1])
def test_labels_that_would_be_rounded_are_refused(refused, run, tmp_path, kind, label):
    import pyarrow as pa
    import pyarrow.parquet as pq

    y, x = np.array([label, 0, 1] * 10), np.arange(30.0)  # with an own rounding, three labels might be two
    path, model = tmp_path / f"rows.{kind}", tmp_path / "model"

    def write(y):
        if kind == "csv":
            path.write_text("x,y\n" + "".join(f"{a},{b}\n" for a, b in zip(x, y, strict=True)), encoding="utf-8")
        elif kind == "npz":
            np.savez(path, X=x[:, None], y=y)
        else:
            pq.write_table(pa.table({"x": x, "y": y}), path)

    write(y)
    message = refused("fit", path, "-o", model, "--alpha", "1", *([] if kind == "npz" else ["--target", "y"]))
    assert "2^53 or more, and would be rounded: make" in message
    write(np.where(y == label, 2**53 - 1, 0))
    assert run("fit", path, "-o", model, "--alpha", "1", *([] if kind == "npz" else ["--target", "y"]))[0] == 0


def test_predict_finds_columns_by_name(run, tmp_path):
    rng = np.random.default_rng(0)
    colours, size = rng.choice(["red", "green", "blue"], 300), rng.standard_normal(300)
    y = (size + (colours == "red") + rng.standard_normal(300) > 0).astype(int)
    (tmp_path / "train.csv").write_text(
        "size,colour,label\n" + "".join(f"{s},{c},{k}\n" for s, c, k in zip(size, colours, y, strict=True)),
        encoding="utf-8",
    )
    (tmp_path / "new.csv").write_text("id,colour,size\n7,red,0.5\n8,violet,0.5\n9,red,?\n", encoding="utf-8")
    model = tmp_path / "model.safetensors"
    assert run("fit", tmp_path / "train.csv", "-o", model, "--alpha", "0.1")[0] == 0
    status, out, err = run("predict", model, tmp_path / "new.csv")
    assert status == 0
    where = f"{tmp_path / 'new.csv'}, column"
    assert err.splitlines() == [
        f"{where} 'colour': 1 cell with levels that no training row has, scored as rare",
        f"{where} 'size': 1 cell without a value, as no training row is, scored as average",
    ]
    encoder, clf = load_model(model)
    assert encoder.get_feature_names_out().tolist() == ["size", "colour=blue", "colour=green", "colour=red"]
    red, violet, gap = map(float, out.splitlines()[1:])
    shares = [np.mean(colours == colour) for colour in ("blue", "green", "red")]
    assert red == pytest.approx(0.5 * clf.coef_[0, 0] + clf.coef_[0, 3] + clf.intercept_[0])
    assert violet == pytest.approx(0.5 * clf.coef_[0, 0] + clf.coef_[0, 1:] @ shares + clf.intercept_[0])
    assert gap == pytest.approx(size.mean() * clf.coef_[0, 0] + clf.coef_[0, 3] + clf.intercept_[0])


# Weights and groups


@pytest.fixture
def weighted(tmp_path):
    """Return a CSV file with a column of weights among the features, and one of groups, and the weights."""
    rng = np.random.default_rng(0)
    weights, groups = rng.integers(0, 4, 400), rng.choice(["ann", "7", "x", "y", "z"], 400)
    lines = [",".join([NAMES[0], "weight", *NAMES[1:], "patient", "diagnosis"])]
    for x, w, g, c in zip(X[TRAIN], weights, groups, Y[TRAIN], strict=True):
        first, *rest = map(repr, x.tolist())
        lines.append(",".join([first, str(w), *rest, g, ("malignant", "benign")[c]]))
    (tmp_path / "weighted.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tmp_path / "weighted.csv", weights


def test_fit_with_weight_two_is_two_rows(run, weighted, tmp_path):
    path, weights = weighted
    repeated = np.repeat(np.arange(400), weights)
    np.savez(tmp_path / "repeated.npz", X=X[TRAIN][repeated], y=1 - Y[TRAIN][repeated])
    np.savez(tmp_path / "weighted.npz", X=X[TRAIN], y=1 - Y[TRAIN], w=weights)
    without_groups = tmp_path / "without_groups.csv"
    without_groups.write_text(
        re.sub(r",(ann|7|x|y|z|patient)(?=,\w+$)", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE),
        encoding="utf-8",
    )
    assert run("fit", tmp_path / "repeated.npz", "-o", tmp_path / "repeated", "--alpha", 0.1)[0] == 0
    assert run("fit", tmp_path / "weighted.npz", "-o", tmp_path / "npz", "--alpha", 0.1, "--weight", "w")[0] == 0
    options = ["--target", "diagnosis", "--weight", "weight", "--alpha", 0.1]
    assert run("fit", without_groups, "-o", tmp_path / "csv", *options)[0] == 0
    expected = read_model(tmp_path / "repeated")
    for name in ("npz", "csv"):
        found = read_model(tmp_path / name)
        np.testing.assert_allclose(last_step(found.model).coef_, expected.model.coef_, rtol=1e-8)
        np.testing.assert_allclose(found.notes["spreads"], expected.notes["spreads"], rtol=1e-12)
    assert found.model.feature_names_in_.tolist() == NAMES
    clf = found.model[-1]
    # A file that has weights and groups is scored without them.
    scores = X[TRAIN] @ clf.coef_[0] + clf.intercept_[0]
    told = json.loads(run("evaluate", tmp_path / "csv", path, "--json")[1])
    assert told["auc"] == pytest.approx(roc_auc(1 - Y[TRAIN], scores))
    told = [float(line) for line in run("predict", tmp_path / "csv", path)[1].splitlines()[1:]]
    np.testing.assert_allclose(told, scores, rtol=1e-9)


class Recorder(BaseEstimator):
    """Keeps what it is fitted with."""

    def fit(self, X, y, sample_weight=None, groups=None):
        self.given_ = {"sample_weight": sample_weight, "groups": groups}
        return self


@pytest.mark.parametrize("roles", [(), ("weight",), ("group",), ("weight", "group")], ids=str)
def test_fit_is_given_the_weights_and_groups_that_were_asked_for(weighted, roles):
    columns = {"weight": "weight", "group": "patient"}
    source = open_source(weighted[0], target="diagnosis", **{role: columns[role] for role in roles})
    rows = source.read()
    arguments = fit_arguments(Recorder(), rows)
    assert set(arguments) == {{"weight": "sample_weight", "group": "groups"}[role] for role in roles}
    pipeline = make_pipeline(StandardScaler(), Recorder())
    pipeline.fit(rows.features, rows.y, **fit_arguments(pipeline, rows))
    assert pipeline[-1].given_ == {"sample_weight": rows.weight, "groups": rows.group}


@pytest.mark.parametrize("loss", ["squared", pytest.param("logistic", marks=pytest.mark.slow)])
def test_weights_and_groups_by_blocks_are_those_in_memory(run, weighted, tmp_path, loss):
    """Groups are whole in both: a number of folds stands for stratified ones that keep them together."""
    path, weights = weighted
    fit = ["fit", path, "--target", "diagnosis", "--weight", "weight", "--group", "patient", "--cv", 2]
    models = []
    for name, how in (("memory", []), ("blocks", ["--memory", "10MB"])):
        assert run(*fit, "--loss", loss, "-o", tmp_path / name, "--json", *how)[0] == 0
        models.append(read_model(tmp_path / name))
    in_memory, by_blocks = models
    groups = open_source(path, target="diagnosis", group="patient").read().group
    clf = AUCClassifier(loss, cv=2)
    clf.fit(X[TRAIN], 1 - Y[TRAIN], sample_weight=weights, groups=groups)
    for file in models:
        found = file.model[-1]
        np.testing.assert_allclose(found.coef_, clf.coef_, rtol=0, atol=1e-8 * np.abs(clf.coef_).max())
        scores = [model.cv_results_["split1_test_score"] for model in (found, clf)]
        np.testing.assert_allclose(*scores, atol=1e-9)
    assert {**by_blocks.notes["training"], "by_blocks": False} == in_memory.notes["training"]
    np.testing.assert_allclose(by_blocks.notes["spreads"], in_memory.notes["spreads"], rtol=1e-9)


def test_weights_and_groups_that_cannot_be_used_are_refused(refused, weighted, tmp_path):
    fit = ["fit", weighted[0], "--target", "diagnosis", "-o", tmp_path / "m"]
    told = refused(*fit, "--algorithm", "GaussianAUC", "--group", "patient")
    assert told == "GaussianAUC cannot be fitted with --group: leave it out."
    assert refused(*fit, "--algorithm", "GaussianAUC", "--group", "patient", "--memory", "10MB") == told
    assert "has no column 'wait' to be the weight" in refused(*fit, "--weight", "wait")
    told = refused(*fit, "--weight", "patient")
    assert "line 2, column 'patient': found 'z' where a number is expected" in told
    assert not (tmp_path / "m").exists()


# predict, evaluate, inspect, export


def test_predict_writes_scores_probabilities_and_labels(run, folder, tmp_path):
    model = load_model(folder / "csv.safetensors")
    status, out, err = run("predict", folder / "csv.safetensors", folder / "test.csv", "--proba", "--labels")
    assert (status, err) == (0, "")
    header, *lines = out.splitlines()
    assert header == "score_malignant,probability_malignant,label"
    with pytest.warns(UserWarning, match="feature names"):
        scores = model.decision_function(X[TEST])
    told = [line.split(",") for line in lines]
    np.testing.assert_allclose([float(line[0]) for line in told], scores, rtol=1e-12)
    assert [line[2] for line in told] == np.where(scores > 0, "malignant", "benign").tolist()
    is_malignant = Y[TEST] == 0
    assert roc_auc(is_malignant, [float(line[1]) for line in told]) > 0.9, "larger for the class that the header names"
    run(
        "predict", folder / "csv.safetensors", folder / "test.csv", "--proba", "--labels", "-o", tmp_path / "scores.csv"
    )
    assert (tmp_path / "scores.csv").read_text(encoding="utf-8") == out
    assert os.listdir(tmp_path) == ["scores.csv"]


def test_evaluate_prints_auc_and_interval_of_the_model(run, folder, tmp_path):
    report = tmp_path / "report.html"
    status, out, err = run("evaluate", folder / "libsvm.safetensors", folder / "test.libsvm", "--report", report)
    assert (status, err) == (0, "")
    model = load_model(folder / "libsvm.safetensors")
    auc = roc_auc(Y[TEST], model.decision_function(X[TEST]))
    assert out.startswith(f"AUC                {auc:.4f}  95% interval [")
    assert "partial AUC" in out
    assert "average precision" in out
    assert "predicted 1" in out
    assert report.stat().st_size < 3e6


def test_inspect_shows_what_the_file_holds(run, folder):
    status, out, _ = run("inspect", folder / "csv.safetensors", "--top", 3)
    assert status == 0
    assert "TableClassifier" in out
    assert sorted(sum(line.startswith(name + " ") for line in out.splitlines()) for name in NAMES) == [1] * 27 + [2] * 3
    values = json.loads(run("inspect", folder / "csv.safetensors", "--json")[1])
    assert values["classes"] == {"negative": "benign", "positive": "malignant"}
    assert values["training"]["n_samples"] == 400
    assert values["n_features"] == 30
    assert values["weights"] is None
    weights = json.loads(run("inspect", folder / "libsvm.safetensors", "--json")[1])["weights"]
    model = load_model(folder / "libsvm.safetensors")
    assert next(iter(weights)) == f"column {1 + np.argmax(np.abs(model.coef_[0] * X[TRAIN].std(axis=0)))}"


def test_export_writes_what_onnxruntime_reads(run, folder, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    status, _, err = run("export", folder / "libsvm.safetensors", "--onnx", tmp_path / "model.onnx")
    assert (status, err) == (0, f"wrote {tmp_path / 'model.onnx'}\n")
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    (scores,) = session.run(["score"], {"X": X[TEST]})
    expected = load_model(folder / "libsvm.safetensors").decision_function(X[TEST])
    np.testing.assert_allclose(scores, expected, rtol=1e-9)


# compare, algorithms, demo


@pytest.mark.slow
def test_compare_tells_what_the_engine_finds(run, folder, tmp_path):
    from aucmax.compare.comparison import compare

    methods = "GaussianAUC, LogisticRegression(C=0.1), SHTAUC(n_nonzero=3, n_blocks=1)"
    arguments = ["--methods", methods, "--folds", 3, "--repeats", 2, "--report", tmp_path / "report.html"]
    status, out, err = run("compare", folder / "train.libsvm", *arguments, "--json")
    assert (status, err) == (0, "")
    (told,) = json.loads(out)["comparisons"]
    expected = compare(X[TRAIN], Y[TRAIN], split_names(methods), n_splits=3, n_repeats=2).to_dict()
    for row, known in zip(told["methods"], expected["methods"], strict=True):
        assert (row["method"], row["pvalue"]) == (known["method"], known["pvalue"])
        assert [split["auc"] for split in row["splits"]] == [split["auc"] for split in known["splits"]]
    assert (tmp_path / "report.html").exists()
    status, out, _ = run("compare", folder / "train.libsvm", folder / "test.libsvm", *arguments[:-2])
    assert status == 0
    assert "LogisticRegression(C=0.1)" in out
    assert "over 2 data sets" in out


def test_algorithms_lists_the_registry(run):
    from aucmax.papers import ALGORITHMS

    status, out, _ = run("algorithms")
    assert status == 0
    told = {row["method"] for row in json.loads(run("algorithms", "--json")[1])["methods"]}
    for name in ALGORITHMS:
        assert name in out
        assert name in told


def test_demo_writes_its_report_and_tells_where(run, tmp_path, monkeypatch):
    from aucmax.cli.commands import demo

    monkeypatch.setattr(demo, "METHODS", ("GaussianAUC", "LinearDiscriminantAnalysis"))
    status, out, _ = run("demo", "-o", tmp_path / "demo.html")
    assert status == 0
    assert out.rstrip().endswith(f"wrote {tmp_path / 'demo.html'}")
    assert "LinearDiscriminantAnalysis" in (tmp_path / "demo.html").read_text(encoding="utf-8")


# What users can fix


@pytest.mark.parametrize(
    "command",
    [
        ["fit", "train.csv", "--target", "zz", "-o"],
        ["fit", "train.csv", "--target", "zz", "-o", "fresh.safetensors", "--report"],
        ["fit", "train.csv", "--target", "diagnosis", "--test", "train.parquet", "-o"],
        ["evaluate", "csv.safetensors", "test.csv", "--target", "zz", "--report"],
        ["predict", "csv.safetensors", "test.csv", "--keep", "zz", "-o"],
        ["export", "csv.safetensors", "--check", "other.csv", "--onnx"],
        ["scorecard", "additive.safetensors", "--test", "other.csv", "-o"],
        ["compare", "train.csv", "--target", "zz", "--report"],
    ],
    ids=" ".join,
)
def test_commands_read_input_before_they_check_outputs(refused, run, folder, tmp_path, command):
    taken, additive = tmp_path / "taken.csv", folder / "additive.safetensors"
    taken.write_text("precious", encoding="utf-8")
    if "additive.safetensors" in command and not additive.exists():
        options = ["--algorithm", "TableClassifier(terms='lines')", "--target", "diagnosis", "-q"]
        assert run("fit", folder / "train.csv", "-o", additive, *options)[0] == 0
    write_csv(folder / "other.csv", TEST, columns=[f"c{j}" for j in range(len(NAMES))])
    told = refused(*(folder / word if "." in word else word for word in command), taken)
    assert "taken" not in told
    assert "has no column" in told


def test_faults_of_the_input_are_found_before_an_output_that_exists(refused, folder, tmp_path):
    taken = tmp_path / "taken"
    taken.write_text("precious", encoding="utf-8")
    told = refused("fit", folder / "train.csv", "--target", "diagnose", "-o", taken)
    assert "has no column 'diagnose' to be the target" in told
    assert "'OPAUK' is not a known method" in refused(
        "fit", folder / "train.libsvm", "--algorithm", "OPAUK", "-o", taken
    )
    told = refused("predict", folder / "libsvm.safetensors", tmp_path / "missing.csv", "-o", taken)
    assert "No such file" in told
    assert "taken exists" in refused("predict", folder / "libsvm.safetensors", folder / "test.libsvm", "-o", taken)


def test_a_model_file_without_moments_predicts_the_same_and_is_smaller(run, folder, tmp_path):
    arguments = ["fit", folder / "train.libsvm", "--loss", "squared", "--alpha", 1]
    assert run(*arguments, "-o", tmp_path / "with")[0] == run(*arguments, "-o", tmp_path / "m", "--no-moments")[0] == 0
    model, smaller = load_model(tmp_path / "with"), load_model(tmp_path / "m")
    assert (smaller.decision_function(X) == model.decision_function(X)).all()
    assert not hasattr(smaller, "moments_")
    saved = (tmp_path / "with").stat().st_size - (tmp_path / "m").stat().st_size
    assert saved > 2 * 30 * 30 * 8


def test_existing_files_are_kept_unless_forced(run, refused, folder, tmp_path):
    for name in ("model.safetensors", "report.html"):
        (tmp_path / name).write_text("precious", encoding="utf-8")
    model, report = tmp_path / "model.safetensors", tmp_path / "report.html"
    assert refused("fit", folder / "train.libsvm", "-o", model) == (
        f"{model} exists: give another name, or --force to replace it."
    )
    refused("fit", folder / "train.libsvm", "-o", tmp_path / "new", "--report", report)
    refused("predict", folder / "libsvm.safetensors", folder / "test.libsvm", "-o", report)
    refused("evaluate", folder / "libsvm.safetensors", folder / "test.libsvm", "--report", report)
    refused("export", folder / "libsvm.safetensors", "--onnx", report)
    refused("demo", "-o", report)
    assert sorted(os.listdir(tmp_path)) == ["model.safetensors", "report.html"]
    assert {path.read_text(encoding="utf-8") for path in (model, report)} == {"precious"}
    assert run("fit", folder / "train.libsvm", "-o", model, "--alpha", "1", "--force")[0] == 0
    assert load_model(model).alpha == 1


def test_no_output_may_be_an_input_or_another_output(refused, folder, tmp_path):
    train, model = tmp_path / "train.libsvm", tmp_path / "model"
    shutil.copy(folder / "train.libsvm", train)
    shutil.copy(folder / "libsvm.safetensors", model)
    before = {path: path.read_bytes() for path in (train, model)}
    assert "is read by this command" in refused("fit", train, "-o", train, "--force")
    refused("fit", train, "--test", model, "-o", model, "--force")
    assert "is written as" in refused("fit", train, "-o", tmp_path / "m", "--report", tmp_path / "m")
    refused("fit", train, "-o", tmp_path / "m", "--checkpoint", tmp_path / "m")
    refused("fit", train, "-o", tmp_path / "m", "--checkpoint", train)
    refused("predict", model, train, "-o", train, "--force")
    refused("predict", model, train, "-o", model, "--force")
    refused("evaluate", model, train, "--report", model, "--force")
    refused("export", model, "--onnx", model, "--force")
    refused("compare", train, "--report", train, "--force")
    assert {path: path.read_bytes() for path in before} == before
    assert not (tmp_path / "m").exists()


@pytest.mark.posix
def test_no_output_may_be_a_link_to_an_input(refused, folder, tmp_path):
    train = tmp_path / "train.libsvm"
    shutil.copy(folder / "train.libsvm", train)
    (tmp_path / "link").symlink_to(train)
    assert "is read by this command" in refused("fit", train, "-o", tmp_path / "link", "--force")
    assert train.read_bytes() == (folder / "train.libsvm").read_bytes()


def test_faults_of_the_test_file_are_found_before_the_fit(refused, folder, tmp_path, monkeypatch):
    monkeypatch.setattr("aucmax.cli.commands.fit.fit_in_memory", lambda *arguments: pytest.fail("it was fitted"))
    train = ["fit", folder / "train.csv", "--target", "diagnosis", "-o", tmp_path / "m"]
    assert "missing.csv" in refused(*train, "--test", tmp_path / "missing.csv")
    write_csv(tmp_path / "other.csv", TEST, columns=[*NAMES[:29], "other"])
    assert NAMES[29] in refused(*train, "--test", tmp_path / "other.csv")
    assert "standard input (-) can be read only once" in refused("fit", "-", "--test", "-", "-o", tmp_path / "m")
    assert "nowhere" in refused(*train, "--checkpoint", tmp_path / "nowhere" / "c")


def test_a_model_is_safe_when_its_test_fails(refused, folder, tmp_path):
    (tmp_path / "one.libsvm").write_text("1 1:1\n1 2:1\n", encoding="utf-8")
    told = refused(
        "fit", folder / "train.libsvm", "-o", tmp_path / "m", "--alpha", 1, "--test", tmp_path / "one.libsvm"
    )
    assert "no row has the label 0" in told
    assert told.endswith(f"(The model was written to {tmp_path / 'm'}.)")
    load_model(tmp_path / "m")


def test_a_checkpoint_is_no_licence_to_replace_another_file(run, folder, tmp_path, monkeypatch):
    arguments = ["fit", folder / "train.libsvm", "--alpha", 1, "--checkpoint", tmp_path / "c", "--checkpoint-every", 0]
    monkeypatch.setattr(FileRows, "finish", lambda self: None)
    assert run(*arguments, "-o", tmp_path / "m")[0] == 0
    (tmp_path / "precious").write_text("precious", encoding="utf-8")
    status, _, err = run(*arguments, "-o", tmp_path / "precious")
    assert status == 2
    assert "is the checkpoint of another fit: its options differ: output " in err
    assert (tmp_path / "precious").read_text(encoding="utf-8") == "precious"
    assert run(*arguments, "-o", tmp_path / "m")[0] == 0  # the same command goes on, and replaces its own


def test_predict_takes_columns_without_names_in_order_with_a_note(run, folder):
    status, _, err = run("predict", folder / "libsvm.safetensors", folder / "test.csv", "--target", "diagnosis")
    assert status == 0
    assert "columns are taken in their order, since the model has no column names" in err


def test_output_option_minus_is_standard_output(run, folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    status, out, _ = run("predict", folder / "libsvm.safetensors", folder / "test.libsvm", "-o", "-")
    assert status == 0
    assert out.startswith("score_1\n")
    assert os.listdir() == []


@pytest.mark.slow
@pytest.mark.posix
def test_fit_interrupted_prints_one_line(folder, tmp_path):
    script = (
        "import os, signal, sys, aucmax.cli.commands.fit as t; from aucmax.cli.app import main; "
        "signal.signal(signal.SIGINT, signal.default_int_handler); "  # which a shell in the background has ignored
        "t.fit_in_memory = lambda *arguments: os.kill(os.getpid(), signal.SIGINT); main(sys.argv[1:])"
    )
    arguments = ["fit", str(folder / "train.libsvm"), "-o", str(tmp_path / "m")]
    done = subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (130, "aucmax: interrupted.\n")
    assert os.listdir(tmp_path) == []


@pytest.mark.slow
@pytest.mark.posix
def test_commands_with_closed_or_ascii_streams(folder, tmp_path):
    write_csv(tmp_path / "train.csv", TRAIN, labels=("gut", "böse"), target="y")
    command = f"{sys.executable} -m aucmax"
    model = tmp_path / "m"
    script = f"""
set -e
{command} fit {tmp_path}/train.csv --alpha 1 -o {model}
{command} inspect {model}
{command} predict {model} {tmp_path}/train.csv --labels >&-
{command} inspect {model} | head -n 1
! {command} predict {model} - <&-
"""
    environment = {**os.environ, "LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert done.stderr == "aucmax: standard input is closed.\n"
    assert "b\\xf6se" in done.stdout


BAD = {
    "ragged.csv": ("a,b,y\n1,2,0\n3,1\n", "line 3"),
    "text.csv": ("a,b,y\n" + "1,2,0\n" * 9 + "3,oops,1\n", "line 11, column 'b': found 'oops'"),
    "missing-target.csv": ("a,b,c\n1,2,0\n", "--target"),
    "one-class.csv": ("a,b,y\n1,2,0\n3,4,0\n", "every row has the label 0"),
    "three.csv": ("a,y\n1,0\n3,1\n2,2\n", "--positive"),
    "order.libsvm": ("1 1:1 2:1\n0 2:1 1:1\n", "line 2"),
    "zero.libsvm": ("1 1:1\n0 0:1\n", "line 2"),
    "empty.csv": ("", "is empty"),
    "header.csv": ("a,b,y\n", "no rows"),
    "junk.csv": ("\0\1\2\3", "not text"),
    "null.csv": ("a,b,y\n1,2,0\n1,3,\n", "line 3, column 'y': the cell is empty"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_files_are_refused_with_file_and_line(refused, tmp_path, name):
    text, what = BAD[name]
    (tmp_path / name).write_bytes(text.encode())
    told = refused("fit", tmp_path / name, "-o", tmp_path / "model")
    assert name in told
    assert what in told
    assert not (tmp_path / "model").exists()


def test_fit_refuses_files_without_rows(refused, folder, tmp_path):
    (tmp_path / "junk").write_bytes(bytes(range(256)) * 9)
    assert "junk" in refused("fit", tmp_path / "junk", "-o", tmp_path / "m")
    assert "directory" in refused("fit", tmp_path, "-o", tmp_path / "m").lower()
    assert "No such file" in refused("fit", tmp_path / "missing.csv", "-o", tmp_path / "m")
    assert "cannot be written" in refused("fit", folder / "train.libsvm", "-o", tmp_path / "no" / "m")
    assert "is a directory" in refused("fit", folder / "train.libsvm", "-o", tmp_path)
    assert os.listdir(tmp_path) == ["junk"]


@pytest.mark.posix
def test_fit_refuses_a_file_without_permission(folder):
    with tempfile.TemporaryDirectory() as elsewhere:
        secret = Path(elsewhere, "secret.csv")
        shutil.copy(folder / "train.csv", secret)
        Path(elsewhere).chmod(0o777)
        secret.chmod(0)
        script = "import os, sys; os.geteuid() or os.setuid(65534); from aucmax.cli.app import main; main(sys.argv[1:])"
        command = [
            sys.executable,
            "-c",
            f"from aucmax.cli import app; app.load_command('fit'); app.make_group(); {script}",
        ]
        done = subprocess.run([*command, "fit", secret, "-o", f"{elsewhere}/m"], capture_output=True, text=True)
        assert done.returncode == 2
        assert done.stderr == f"aucmax: {secret}: Permission denied.\n"


def test_models_and_data_that_do_not_fit_each_other_are_refused(refused, folder, tmp_path):
    narrow = tmp_path / "narrow.csv"
    write_csv(narrow, TEST, columns=NAMES[:30])
    text = narrow.read_text(encoding="utf-8").replace("mean_radius", "renamed")
    narrow.write_text(text, encoding="utf-8")
    assert "mean_radius" in refused("evaluate", folder / "csv.safetensors", narrow)
    (tmp_path / "wide.libsvm").write_text("1 31:1\n0 1:1\n", encoding="utf-8")
    told = refused("evaluate", folder / "libsvm.safetensors", tmp_path / "wide.libsvm")
    assert "line 1" in told
    assert "30" in told
    (tmp_path / "strange.libsvm").write_text("1 1:1\n5 1:1\n", encoding="utf-8")
    assert "the label 5 is neither 0 nor 1" in refused(
        "evaluate", folder / "libsvm.safetensors", tmp_path / "strange.libsvm"
    )
    (tmp_path / "one.libsvm").write_text("1 1:1\n1 1:1\n", encoding="utf-8")
    assert "no row has the label 0" in refused("evaluate", folder / "libsvm.safetensors", tmp_path / "one.libsvm")
    (tmp_path / "text.safetensors").write_text("not a model", encoding="utf-8")
    for command in ("predict", "evaluate"):
        assert "text.safetensors" in refused(command, tmp_path / "text.safetensors", folder / "test.libsvm")
    assert "is libsvm, which has no columns to show" in refused("inspect", folder / "train.libsvm")


@pytest.mark.parametrize(
    ("options", "what"),
    [
        (["--loss", "cubic"], "loss"),
        (["--selection", "worst"], "'worst' is not one of 'blend', 'best'"),
        (["--algorithm", "SOLAM", "--selection", "best"], "SOLAM has no parameter for --selection"),
        (["--algorithm", "OPAUK"], "OPAUC"),
        (["--algorithm", "OPAUC(rank='x')"], "rank"),
        (["--algorithm", "GaussianAUC", "--penalty", "l1"], "GaussianAUC has no parameter for --penalty"),
        (["--algorithm", "LinearSVC"], "LinearSVC can be compared with, not fitted here: --algorithm takes one of"),
        (["--algorithm", "SPAM(alpha=1)", "--alpha", "1"], "alpha is given twice, by --algorithm and by --alpha."),
        (["--memory", "lots"], "--memory takes a number of bytes or a size such as 2GB"),
        (["--memory", "100kB", "--loss", "hinge", "--alpha", "1", "-q"], "GB of memory for them: raise --memory, "),
        (["--memory", "100kB", "--loss", "hinge", "-q"], "at least 50 rows of each class must fit: give --loss and"),
        (["--memory", "10MB", "--algorithm", "PSAM"], "PSAM needs all rows in memory, about 3"),
        (["--checkpoint", "c", "--algorithm", "OPAUCf"], "OPAUCf needs all rows in memory, but with --checkpoint they"),
        (
            ["--checkpoint", "c", "--algorithm", "AUCClassifier(solver='dual')"],
            "(solver='dual') needs all rows in memory",
        ),
        (["--positive", "7"], "no row has the label '7'"),
        (["--alpha", "-1"], "--alpha must be a float"),
        (["--n-nonzero", "99"], "n_nonzero must be between 1 and the number of columns"),
        (["--memory", "10MB", "--algorithm", "SOLAM(shuffle=True)", "-q"], "set shuffle=False"),
        (["--nonsense"], "--nonsense"),
        (["--format", "xml"], "'xml' is not one of 'libsvm'"),
    ],
)
def test_fit_refuses_bad_options(refused, folder, tmp_path, options, what):
    assert what in refused("fit", folder / "train.libsvm", "-o", tmp_path / "m", *options)
    assert not (tmp_path / "m").exists()


def test_debug_option_shows_the_traceback(run, folder, tmp_path):
    status, _, err = run("fit", tmp_path / "missing.csv", "--debug")
    assert status == 2
    assert "Traceback" in err
    assert err.rstrip().endswith("No such file or directory.")


def test_unexpected_error_ends_with_status_1(run, folder, tmp_path, monkeypatch):
    monkeypatch.setattr("aucmax.cli.commands.fit.fit_in_memory", lambda *arguments: {}["nothing"])
    status, _, err = run("fit", folder / "train.libsvm", "-o", tmp_path / "m")
    assert status == 1
    assert err == "aucmax: unexpected KeyError: 'nothing' (--debug shows where).\n"


@pytest.mark.slow
@pytest.mark.posix
def test_a_full_disk_leaves_the_old_file_whole(folder, tmp_path):
    """A limit on the size of files stands for the disk."""
    model = tmp_path / "model.safetensors"
    shutil.copy(folder / "csv.safetensors", model)
    before = model.read_bytes()
    script = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)); "
        "from aucmax.cli.app import main; main(sys.argv[1:])"
    )
    command = [
        sys.executable,
        "-c",
        script,
        "fit",
        str(folder / "train.libsvm"),
        "--alpha",
        "1",
        "-o",
        str(model),
        "--force",
    ]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "NUMBA_DISABLE_JIT": "0"})
    assert done.returncode == 2, done.stderr
    assert done.stderr.count("\n") == 1
    assert "File too large" in done.stderr
    assert model.read_bytes() == before
    assert os.listdir(tmp_path) == ["model.safetensors"]


@pytest.mark.posix
def test_the_installed_command_and_a_reader_that_leaves(folder):
    command = f"{sys.executable} -m aucmax predict {folder}/libsvm.safetensors {folder}/train.libsvm | head -n 1"
    done = subprocess.run(["bash", "-c", f"set -o pipefail; {command}"], capture_output=True, text=True)
    assert done.stdout == "score_1\n"
    assert done.stderr == ""


def test_names_are_parted_outside_of_brackets():
    assert split_names("A, B(c=1, d='x'),C") == ["A", "B(c=1, d='x')", "C"]


# Progress


@pytest.fixture
def terminal(monkeypatch):
    """Return what stands on a terminal that shows progress at once."""
    screen = io.StringIO()
    monkeypatch.setattr(console, "PATIENCE", 0.0)
    make = lambda **options: RichConsole(file=screen, force_terminal=True, width=120)  # noqa: E731
    monkeypatch.setattr(console, "RichConsole", make)
    return screen


def test_progress_tells_rows_and_bytes_on_a_terminal(terminal):
    with console.Console().progress() as bar:
        update = console.on_block(bar, SimpleNamespace(size=1_000_000_000))
        for n_rows, n_read in ((1234, 500_000_000), (1000, 600_000_000)):
            update("moments", Block(np.empty((n_rows, 1)), None, 0, n_read))
        bar.timer.join()
        bar.progress.refresh()
    shown = terminal.getvalue()
    assert "moments" in shown
    assert "2,234 rows, 600 MB of 1 GB" in shown


def test_progress_of_a_fit_counts_its_steps(terminal):
    with console.Console().progress() as bar:
        bar.timer.join()
        steps = console.FitProgress(bar)
        AUCClassifier().set_callbacks(steps).fit(X[TRAIN], Y[TRAIN])
        bar.progress.refresh()
        assert steps.count == bar.progress.tasks[0].total == 5  # two scalings, other losses, blend, fit to all rows
    assert f"{steps.count} of {steps.count} steps" in terminal.getvalue()


def test_progress_of_a_comparison_counts_its_fits(terminal):
    with console.Console().progress() as bar:
        bar.timer.join()
        update = console.on_fit(bar, 10)
        for method in ("A", "B", "A"):
            update(SimpleNamespace(method=method))
        bar.progress.refresh()
    assert "3 of 10 fits, A" in terminal.getvalue()


@pytest.mark.parametrize("quiet", [True, False])
def test_no_progress_if_quiet_or_not_on_a_terminal(quiet, terminal, monkeypatch):
    if not quiet:
        monkeypatch.setattr(console, "RichConsole", lambda **options: RichConsole(file=terminal, force_terminal=False))
    with console.Console(quiet=quiet).progress() as bar:
        bar.update("moments", 1, 2)
        bar.progress.refresh()
    assert "moments" not in terminal.getvalue()
