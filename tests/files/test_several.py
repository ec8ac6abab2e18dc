"""Patterns of file names: several files are read as the one that they are parts of."""

import json
import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_array_equal
from problems import noisy_line
from sklearn.datasets import dump_svmlight_file

from aucmax import AUCClassifier, open_rows
from aucmax.files import open_source
from aucmax.metrics import roc_auc
from aucmax.models.model_file import read_model

WRITERS = {
    "csv": lambda path, X, y: np.savetxt(
        path, np.column_stack([X, y]), delimiter=",", header="a,b,c,label", comments="", fmt="%.17g"
    ),
    "libsvm": lambda path, X, y: dump_svmlight_file(X, y, str(path), zero_based=False),
    "parquet": lambda path, X, y: pq.write_table(pa.table([*X.T, y], names=["a", "b", "c", "label"]), path),
    "npz": lambda path, X, y: np.savez(path, X=X, y=y),
}


@pytest.fixture(params=WRITERS)
def written(request, tmp_path):
    """Return a pattern, the file that has all rows, and the rows."""
    X, y = noisy_line(n=90, d=3)
    X = np.round(X, 3)
    X[:30, 2] = 0  # a LIBSVM file with fewer columns than the others
    for number, rows in enumerate(np.split(np.arange(90), [30, 75])):
        WRITERS[request.param](tmp_path / f"part-{number}.{request.param}", X[rows], y[rows])
    WRITERS[request.param](tmp_path / f"all.{request.param}", X, y)
    return tmp_path / f"part-*.{request.param}", tmp_path / f"all.{request.param}", X, y


def dense(features):
    return features if isinstance(features, np.ndarray) else features.toarray()


def test_open_source_has_the_rows_of_all_files(written):
    pattern, _, X, y = written
    source = open_source(pattern)
    rows = source.read()
    assert_array_equal(dense(rows.features), X)
    assert_array_equal(rows.y, y)
    assert source.name == str(pattern)
    assert rows.n_read == source.size == sum(path.stat().st_size for path in pattern.parent.glob(pattern.name))


def test_blocks_can_be_resumed_after_each_of_them(written):
    source = open_source(written[0])
    blocks = list(source.blocks(n_bytes=200))
    assert len(blocks) > 6
    read = [block.n_read for block in blocks]
    assert read == sorted(read)
    for k, block in enumerate(blocks):
        rest = list(source.blocks(n_bytes=200, start=block.position))
        assert [other.position for other in rest] == [other.position for other in blocks[k + 1 :]]
        for other, same in zip(rest, blocks[k + 1 :], strict=True):
            assert_array_equal(dense(other.features), dense(same.features))
            assert_array_equal(other.y, same.y)


def test_a_fit_gives_the_weights_of_one_file(written):
    pattern, whole, _, _ = written
    found, expected = (AUCClassifier("squared").fit_rows(open_rows(path)).coef_ for path in (pattern, whole))
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_fit_and_predict_take_patterns_of_files(tmp_path, run):
    X, y = noisy_line(n=90, d=3)
    for number, rows in enumerate(np.split(np.arange(90), [30, 75])):
        WRITERS["csv"](tmp_path / f"part-{number}.csv", X[rows], y[rows])
    pattern, model = tmp_path / "part-*.csv", tmp_path / "model.safetensors"
    assert run("fit", pattern, "--output", model, "--alpha", "0.1", "--quiet")[0] == 0
    status, out, _ = run("predict", model, pattern)
    assert status == 0
    assert len(out.splitlines()) == 91


@pytest.mark.parametrize("format", ["csv", "parquet"])
@pytest.mark.parametrize("number", [0, 1, 2], ids=["first", "middle", "last"])
def test_a_table_without_rows_is_an_empty_part(format, number, tmp_path):
    X, y = noisy_line(n=60, d=2)
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(label=y)
    parts = [frame.iloc[:30], frame.iloc[30:]]
    parts.insert(number, frame.iloc[:0])
    paths = [tmp_path / f"part-{k}.{format}" for k in range(3)]
    for path, part in zip(paths, parts, strict=True):
        getattr(part, f"to_{format}")(path, index=False)
    read = open_source(paths, target="label").read()
    assert_array_equal(read.features, X)
    assert_array_equal(read.y, y)
    getattr(parts[number].rename(columns={"a": "c"}), f"to_{format}")(paths[number], index=False)
    with pytest.raises(ValueError, match=r"part-\d\.\w+ has no rows, and its columns differ from .*part-\d\.\w+: l"):
        open_source(paths, target="label")
    getattr(frame.iloc[:0], f"to_{format}")(paths[0], index=False)
    with pytest.raises(ValueError, match=r"part-0\.\w+ has (a header but )?no rows\.$"):
        open_source(paths[:1], target="label")


def test_lists_of_files_are_read_in_their_order(written):
    pattern, whole, X, y = written
    first, second, third = sorted(pattern.parent.glob(pattern.name))
    source = open_source([third, str(first), second])
    order = np.r_[75:90, 0:75]
    rows = source.read()
    assert_array_equal(dense(rows.features), X[order])
    assert_array_equal(rows.y, y[order])
    assert source.name == f"{third} and 2 more"
    assert open_source([whole]).name == str(whole)
    mixed = open_source([third, str(pattern.parent / f"part-[01]{pattern.suffix}")])
    assert_array_equal(mixed.read().y, y[order])
    with pytest.raises(ValueError, match=rf"^{re.escape(str(first))} is given twice\.$"):
        open_source([first, pattern])


def test_commands_take_several_files(tmp_path, run, refused):
    X, y = noisy_line(n=90, d=3)
    parts = [tmp_path / f"part-{number}.csv" for number in range(3)]
    for part, rows in zip(parts, np.split(np.arange(90), [30, 75]), strict=True):
        WRITERS["csv"](part, X[rows], y[rows])
    WRITERS["csv"](tmp_path / "all.csv", X, y)
    models = [tmp_path / "several.safetensors", tmp_path / "one.safetensors"]
    given = [[*parts, "--test", parts[0], "--test", parts[2]], [tmp_path / "all.csv"]]
    for model, files in zip(models, given, strict=True):
        assert run("fit", *files, "--output", model, "--alpha", "0.1", "--quiet")[0] == 0
    several, one = (run("predict", model, *parts)[1] for model in models)
    assert several == one
    assert len(one.splitlines()) == 91
    values = json.loads(run("evaluate", models[0], parts[0], parts[2], "--json")[1])
    rows = np.r_[0:30, 75:90]
    scores = np.array(one.splitlines()[1:], float)[rows]
    assert values["auc"] == pytest.approx(roc_auc(y[rows], scores))
    assert values["data"] == f"{parts[0]} and 1 more"
    assert read_model(models[0]).notes["test"]["auc"] == values["auc"]
    found, expected = (json.loads(run("inspect", *files, "--json")[1]) for files in (parts, [tmp_path / "all.csv"]))
    assert found == expected | {"data": f"{parts[0]} and 2 more"}
    assert "is a model, which is shown by itself" in refused("inspect", *parts, models[0])
    assert "part-1.csv is read by this command" in refused("fit", tmp_path / "part-*.csv", "-o", parts[1], "--force")
    assert "cannot be one of several" in refused("predict", models[0], parts[0], "-")


def test_open_source_refuses_files_that_do_not_fit_together(tmp_path):
    with pytest.raises(ValueError, match="there must be a file to read"):
        open_source([])
    with pytest.raises(ValueError, match=rf"^No file matches {re.escape(str(tmp_path))}/x-\*\.csv\.$"):
        open_source(tmp_path / "x-*.csv")
    (tmp_path / "x-1.csv").write_text("a,label\nred,0\nblue,1\n", encoding="utf-8")
    (tmp_path / "x-2.csv").write_text("a,label\ngreen,0\nblue,1\n", encoding="utf-8")
    assert open_source(tmp_path / "x-*.csv").feature_names == ["a=blue", "a=green", "a=red"]
    (tmp_path / "y-1.csv").write_text("a,label\n1,0\n", encoding="utf-8")
    (tmp_path / "y-2.csv").write_text("b,label\n1,0\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"y-2\.csv"):
        open_source(tmp_path / "y-*.csv")
    (tmp_path / "y-2.csv").unlink()
    (tmp_path / "y-2.libsvm").write_text("1 1:1\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"y-2\.libsvm is libsvm, but .*y-1\.csv is csv\.$"):
        open_source(tmp_path / "y-*")


def test_a_file_whose_name_looks_like_a_pattern(tmp_path):
    path = tmp_path / "rows[1].csv"
    path.write_text("a,label\n1,0\n2,1\n", encoding="utf-8")
    assert open_source(path).read().features.shape == (2, 1)
