"""Files of rows: the same rows whatever the format, the blocks and the compression; bad files in one sentence."""

import bz2
import gzip
import io
import itertools
import lzma
import os
import re
import subprocess
import sys
import zipfile
from functools import partialmethod

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse

from aucmax.files import FORMATS, lines, open_source

rng = np.random.default_rng(0)
N_ROWS = 40
NUMBERS = np.round(rng.standard_normal((N_ROWS, 3)), 6)
COLOURS = rng.choice(["red", "green", "blue"], N_ROWS)
LABELS = rng.choice([-1.0, 1.0], N_ROWS)
ONE_HOT = np.column_stack([NUMBERS[:, :2], *(np.equal(COLOURS, c) for c in ("blue", "green", "red")), NUMBERS[:, 2]])


def csv_text(labels=LABELS, delimiter=",", end="\n"):
    rows = [["a", "b", "colour", "c", "label"]]
    rows += [[a, b, colour, c, y] for (a, b, c), colour, y in zip(NUMBERS.tolist(), COLOURS, labels, strict=True)]
    return end.join(delimiter.join(map(str, row)) for row in rows) + end


def number_csv():
    return "a,b,c,label\n" + "".join(
        f"{a},{b},{c},{y}\n" for (a, b, c), y in zip(NUMBERS.tolist(), LABELS, strict=True)
    )


def libsvm_text():
    return "".join(
        f"{y} " + " ".join(f"{k}:{v}" for k, v in enumerate(row, 1)) + "\n"
        for row, y in zip(NUMBERS.tolist(), LABELS, strict=True)
    )


def table(**columns):
    return pa.table({"a": NUMBERS[:, 0], "b": NUMBERS[:, 1], "c": NUMBERS[:, 2], "label": LABELS} | columns)


def write(path, content):
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.fixture(params=["libsvm", "csv", "parquet", "npz", "sparse"])
def number_file(request, tmp_path):
    """The same numbers in each format."""
    path = tmp_path / f"rows.{request.param}"
    if request.param == "libsvm":
        return write(path, libsvm_text())
    if request.param == "csv":
        return write(path, number_csv())
    if request.param == "parquet":
        pq.write_table(table(), path, row_group_size=15)
        return path
    path = tmp_path / "rows.npz"
    if request.param == "npz":
        np.savez_compressed(path, X=NUMBERS.reshape(N_ROWS, 3, 1), y=LABELS)
    else:
        X = sparse.csr_array(NUMBERS)
        np.savez(path, data=X.data, indices=X.indices, indptr=X.indptr, shape=X.shape, format=b"csr", y=LABELS)
    return path


def dense(X):
    return X.toarray() if sparse.issparse(X) else X


def refusal(path, **options):
    """Return the one sentence that refuses a file."""
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        open_source(path, **options).read()
    message = str(caught.value)
    assert message.startswith("standard input" if path == "-" else str(path))
    assert "\n" not in message
    return message.removeprefix(str(path))


# What all formats share


def test_same_rows_in_every_format(number_file):
    source = open_source(number_file, with_target=True, n_features=3)
    for _ in range(2):
        X, y = source.read()[:2]
        assert_array_equal(dense(X), NUMBERS)
        assert X.dtype == y.dtype == np.float64
        assert_array_equal(y, LABELS)
    assert sparse.issparse(X) == source.sparse
    assert X.has_canonical_format if source.sparse else X.flags.c_contiguous and X.flags.writeable
    assert source.size == number_file.stat().st_size
    assert source.n_features == 3
    assert open_source(number_file, with_target=False).read()[1] is None


@pytest.mark.parametrize("n_bytes", [1, 100, 333, 1 << 20])
def test_blocks_go_on_from_any_position(number_file, n_bytes):
    source = open_source(number_file)
    blocks = list(source.blocks(n_bytes))
    assert (len(blocks) == 1) == (n_bytes == 1 << 20 and source.format != "parquet")
    assert len(blocks) == N_ROWS or n_bytes > 1
    assert_array_equal(np.vstack([dense(block.features) for block in blocks]), NUMBERS)
    assert_array_equal(np.concatenate([block.y for block in blocks]), LABELS)
    reads = [block.n_read for block in blocks]
    assert reads == sorted(reads)
    assert reads[-1] == source.size
    for k, block in enumerate(blocks):
        rest = list(open_source(number_file).blocks(n_bytes, start=block.position))
        assert len(rest) == len(blocks) - k - 1
        for found, expected in zip(rest, blocks[k + 1 :], strict=True):
            assert_array_equal(dense(found.features), dense(expected.features))
            assert_array_equal(found.y, expected.y)
            assert found[2:] == expected[2:]


def test_open_source_refuses_another_n_features(number_file):
    assert "2 features" in refusal(number_file, n_features=2) or "2 are expected" in refusal(number_file, n_features=2)


def test_truncated_files_are_refused(number_file):
    whole = number_file.read_bytes()
    if number_file.suffix not in (".parquet", ".npz"):
        return
    for size in [*range(1, 60), *range(60, len(whole), 37), len(whole) - 1]:
        number_file.write_bytes(whole[:size])
        assert refusal(number_file)


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
@pytest.mark.parametrize("name", ["rows.csv.packed", "rows", "rows.t.gz"])
def test_compression_is_recognised_by_the_bytes_of_a_file(tmp_path, pack, name):
    for text in (libsvm_text(), number_csv()):
        packed = pack(text.encode())
        path = write(tmp_path / name, packed)
        source = open_source(path)
        assert_array_equal(dense(source.read()[0]), NUMBERS)
        blocks = list(source.blocks(200))
        assert blocks[-1].n_read == source.size == len(packed)
        (rest,) = itertools.islice(source.blocks(200, start=blocks[3].position), 1)
        assert_array_equal(dense(rest.features), dense(blocks[4].features))
        for size in (11, len(packed) // 2, len(packed) - 1):
            assert "damaged or cut short" in refusal(write(path, packed[:size]), format="csv")
        damaged = bytearray(packed)
        damaged[len(packed) // 2] ^= 255
        assert "damaged or cut short" in refusal(write(path, bytes(damaged)), format="csv")


def test_open_source_of_standard_input(number_file, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(number_file.read_bytes()), encoding="utf-8"))
    source = open_source("-", with_target=True)
    assert source.name == "standard input"
    assert source.size == number_file.stat().st_size
    X, y = source.read()[:2]
    assert_array_equal(dense(X), NUMBERS)
    assert_array_equal(y, LABELS)
    # Two readings at once, each with its own place.
    for one, two in zip(source.blocks(100), source.blocks(100), strict=True):
        assert_array_equal(dense(one.features), dense(two.features))


@pytest.mark.posix
def test_open_source_of_a_named_pipe(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = subprocess.Popen([sys.executable, "-c", f"open({str(pipe)!r}, 'w').write({libsvm_text()!r})"])
    source = open_source(pipe)
    assert writer.wait() == 0
    assert_array_equal(dense(source.read()[0]), NUMBERS)
    assert_array_equal(dense(source.read()[0]), NUMBERS)


def test_memory_is_an_upper_estimate(tmp_path):
    X = rng.standard_normal((20000, 10))
    text = "".join(f"1 {' '.join(f'{k}:{v:.3f}' for k, v in enumerate(row, 1))}\n" for row in X.tolist())
    for packed in (text.encode(), gzip.compress(text.encode()), bz2.compress(text.encode())):
        source = open_source(write(tmp_path / "rows", packed))
        needed = 12 * X.size + 12 * len(X)
        with pytest.MonkeyPatch.context() as patch:
            few = partialmethod(type(source).blocks, len(text) // 5)
            patch.setattr(type(source), "blocks", few)
            patch.setattr("aucmax.files.source.BLOCK_BYTES", 0)
            estimate = source.memory()
        if not packed.startswith(b"BZh"):  # a bzip2 file as small as this is unpacked at once
            assert 2 * needed <= estimate <= 3 * needed
        assert 2 * needed <= source.memory() <= 11 * needed


# Formats by name and by content


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        ("+1 3:1 11:1\n", "libsvm"),
        ("# made by\n\n-1\t3:1\n", "libsvm"),
        ("1\n0 1:2\n", "libsvm"),
        ("1 qid:3 1:2\n", "libsvm"),
        ("1 " + " ".join(f"{k}:{k}.5" for k in range(1, 20000)) + "\n", "libsvm"),
        ("a,b\n1,2\n", "csv"),
        ("a;y\n1;2\n", "csv"),
        ("a b:c\ty\n1\t2\n", "csv"),
        ("\ufeffa,b\n1,2\n", "csv"),
    ],
)
def test_format_of_text(tmp_path, head, expected):
    for name in ("a9a", "rows.txt", "rows.dat"):
        assert open_source(write(tmp_path / name, head)).format == expected


def test_format_by_magic(number_file):
    plain = number_file.rename(number_file.with_suffix(".t"))
    assert_array_equal(dense(open_source(plain).read()[0]), NUMBERS)


def test_format_that_is_said_wins(tmp_path):
    path = write(tmp_path / "rows.csv", libsvm_text())
    assert open_source(path, format="libsvm").format == "libsvm"
    with pytest.raises(ValueError, match=r"format must be one of libsvm, csv, parquet, npz; got 'arff'\."):
        open_source(path, format="arff")
    assert "unpack it first" in refusal(write(path, gzip.compress(b"PAR1 whatever")), format="parquet")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"  \n\n", "is empty"),
        (gzip.compress(b"", mtime=0), "is empty"),
        (b"one two three\n1 2 3\n", "unknown format: aucmax reads LIBSVM text, CSV"),
        (bytes(range(256)), "unknown format"),
        (b"\xff\xfea\0,\0b\0\n\0", "is text in UTF-16"),
    ],
)
def test_files_of_no_format(tmp_path, content, message):
    assert message in refusal(write(tmp_path / "rows", content))


def test_open_source_refuses_what_is_not_text(tmp_path):
    message = refusal(write(tmp_path / "rows.csv", bytes(range(256))))
    assert "is not text" in message
    assert message.endswith("Parquet and .npz; say with format= which it is.")


def test_files_that_cannot_be_opened(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        open_source(tmp_path / "nowhere.csv")
    with pytest.raises(IsADirectoryError):
        open_source(tmp_path)


@pytest.mark.posix
def test_open_source_of_a_file_without_permission(tmp_path):
    locked = write(tmp_path / "locked.csv", "a\n1\n")
    locked.chmod(0)
    if os.access(locked, os.R_OK):
        pytest.skip("root may read everything")
    with pytest.raises(PermissionError):
        open_source(locked)


def test_open_source_of_long_lines(tmp_path, monkeypatch):
    row = " ".join(f"{k}:1" for k in range(1, 2000))
    path = write(tmp_path / "rows", f"1 {row}\n0 {row}\n")
    assert [block.features.nnz for block in open_source(path).blocks(10)] == [1999, 1999]
    monkeypatch.setattr(lines, "LONGEST_LINE", 5000)
    assert "line 1: longer than 1 GiB" in refusal(path)


# Columns: targets, categories, encodings


@pytest.fixture(params=["csv", "tsv", "semicolon", "crlf", "bom", "parquet", "dictionary"])
def colour_file(request, tmp_path):
    path = tmp_path / f"rows.{request.param}"
    if request.param in ("parquet", "dictionary"):
        path = tmp_path / "rows.parquet"
        colours = pa.array(COLOURS)
        columns = table(colour=colours.dictionary_encode() if request.param == "dictionary" else colours)
        pq.write_table(columns.select(["a", "b", "colour", "c", "label"]), path, row_group_size=15)
        return path
    texts = {
        "csv": csv_text(),
        "tsv": csv_text(delimiter="\t"),
        "semicolon": csv_text(delimiter=";"),
        "crlf": csv_text(end="\r\n"),
        "bom": "\ufeff" + csv_text(),
    }
    return write(tmp_path / "rows.csv", texts[request.param])


def test_levels_are_features_of_zeros_and_ones(colour_file):
    source = open_source(colour_file, with_target=True)
    assert source.feature_names == ["a", "b", "colour=blue", "colour=green", "colour=red", "c"]
    assert source.target == "label"
    assert not source.sparse
    X, y = source.read()[:2]
    assert_array_equal(X, ONE_HOT)
    assert_array_equal(y, LABELS)
    assert_array_equal(np.vstack([block.features for block in source.blocks(100)]), ONE_HOT)


def test_many_levels_are_sparse(colour_file, monkeypatch):
    monkeypatch.setattr("aucmax.tables.reading.features.DENSE_UP_TO", 5)
    X, _ = open_source(colour_file).read()[:2]
    assert sparse.issparse(X)
    assert_array_equal(X.toarray(), ONE_HOT)
    assert X.has_canonical_format
    assert X.indices.dtype == X.indptr.dtype == np.int32
    assert X.nnz == np.count_nonzero(ONE_HOT)


@pytest.mark.parametrize("is_sparse", [False, True])
def test_a_reading_finds_columns_by_name(colour_file, monkeypatch, tmp_path, is_sparse):
    if is_sparse:
        monkeypatch.setattr("aucmax.tables.reading.features.DENSE_UP_TO", 1)
    reading = open_source(colour_file).reading
    new = write(tmp_path / "new.csv", "class,c,other,colour,b,a\nx,3,?,red,2,1\ny,30,,mauve,20,N/A\n")
    source = open_source(new, reading=reading)
    X, y = source.read()[:2]
    shares = [np.mean(colour == COLOURS) for colour in ("blue", "green", "red")]
    np.testing.assert_allclose(dense(X), [[1, 2, 0, 0, 1, 3], [NUMBERS[:, 0].mean(), 20, *shares, 30]])
    assert y.tolist() == ["x", "y"]
    assert source.reading is reading
    message = refusal(write(new, "a,b,colour,d\n1,2,red,3\n"), reading=reading)
    assert "has no column 'c', which the model needs; its columns are a, b, colour, d." in message
    message = refusal(write(new, "a,b,colour,c\n1,2,red,3\n1,2,red,much\n"), reading=reading)
    assert message == ", line 3, column 'c': found 'much' where a number is expected: correct it."


def test_a_reading_keeps_a_feature_with_the_name_of_a_target(tmp_path):
    path = write(tmp_path / "rows.csv", "class,fraud\n1,0\n2,1\n")
    reading = open_source(path, target="fraud").reading
    assert reading.part_names == ["class"]
    source = open_source(path, reading=reading)
    assert source.target is None
    assert source.read()[0].tolist() == [[1], [2]]


def test_reading_keeps_categories_that_look_like_numbers(tmp_path):
    path = write(tmp_path / "rows.csv", "size,y\n10,0\nL,1\n")
    reading = open_source(path).reading
    assert reading.parts[0].levels == ["10", "L"]
    numbers = tmp_path / "numbers.parquet"
    pq.write_table(pa.table({"size": [10, 11]}), numbers)
    for new in (write(tmp_path / "new.csv", "size\n10\n11\n"), numbers):
        assert open_source(new, reading=reading).read()[0].tolist() == [[1, 0], [0.5, 0.5]]


def test_open_source_refuses_a_table_without_features(tmp_path):
    path = write(tmp_path / "rows.csv", "id,y\n" + "".join(f"k{k},{k % 2}\n" for k in range(1001)))
    found = "identifier or free text: 1,001 different texts in 1,001 rows"
    assert refusal(path) == f" has no column to learn from: all are left out, such as 'id' ({found})."
    assert open_source(path, target="id").target == "id"


@pytest.mark.parametrize(
    ("columns", "options", "target"),
    [
        ("a,b,Class", {}, "Class"),
        ("a,b,Y", {"with_target": True}, "Y"),
        ("a,b,c", {}, None),
        ("label,y,c", {}, None),
        ("label,y,c", {"target": "y"}, "y"),
        ("a,b,c", {"target": "b"}, "b"),
        ("a,b,c", {"target": "z"}, None),
        ("a,b,label", {"with_target": False}, None),
    ],
)
def test_open_source_target_column(tmp_path, columns, options, target):
    path = write(tmp_path / "rows.csv", f"{columns}\n1,2,3\n4,5,6\n")
    source = open_source(path, **options)
    assert source.target == target
    X, y = source.read()[:2]
    assert (y is None) == (target is None)
    hidden = target or ("label" if options.get("with_target") is False else None)
    assert source.feature_names == [column for column in columns.split(",") if column != hidden]
    assert X.shape == (2, len(source.feature_names))


def test_open_source_refuses_a_missing_target(tmp_path):
    path = write(tmp_path / "rows.csv", "a,b,c\n1,2,3\n")
    assert "no column called target, label, class or y: name the target with target=;" in refusal(
        path, with_target=True
    )
    message = refusal(path, with_target=True, target="z")
    assert "has no column 'z' to be the target; its columns are a, b, c." in message
    path = write(path, ",".join(f"v{k}" for k in range(30)) + "\n" + ",".join("1" * 30) + "\n")
    assert "v9 and 20 more." in refusal(path, with_target=True)
    path = write(path, "y,label\n1,2\n")
    assert "several columns called" in refusal(path, with_target=True)
    assert "no columns besides the target" in refusal(write(path, "y\n1\n"), with_target=True)


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["true", "False"], np.array([True, False])),
        (["+1", "-1"], np.array([1.0, -1.0])),
        (["1", "\N{MINUS SIGN}1"], np.array([1.0, -1.0])),
        (["yes", "no"], np.array(["yes", "no"], dtype=object)),
        (["-", "none"], np.array(["-", "none"], dtype=object)),
        (["2020-01-01", "2020-01-02"], np.array(["2020-01-01", "2020-01-02"], dtype=object)),
    ],
)
def test_labels_as_read(tmp_path, cells, expected):
    path = write(tmp_path / "rows.csv", "x,y\n" + "".join(f"{k},{cell}\n" for k, cell in enumerate(cells)))
    y = open_source(path).read()[1]
    assert y.dtype == expected.dtype
    assert y.tolist() == expected.tolist()


# Weights and groups

WEIGHTS = np.round(rng.random(N_ROWS) * np.arange(N_ROWS), 3)  # the first one is 0
GROUPS = rng.choice(["a", "7", "07", "über"], N_ROWS)


@pytest.fixture(params=["csv", "parquet", "npz", "sparse"])
def weighted_file(request, tmp_path):
    """The same rows with weights and groups, among the features where the format has columns."""
    path = tmp_path / f"rows.{request.param}"
    a, b, c = NUMBERS.T
    columns = {"a": a, "w": WEIGHTS, "b": b, "label": LABELS, "who": GROUPS, "c": c}
    if request.param == "csv":
        lines = [",".join(columns), *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True))]
        return write(path, "\n".join(lines) + "\n")
    if request.param == "parquet":
        pq.write_table(pa.table(columns), path, row_group_size=15)
        return path
    X = sparse.csr_array(NUMBERS)
    csr = {"data": X.data, "indices": X.indices, "indptr": X.indptr, "shape": X.shape}
    path = tmp_path / "rows.npz"
    np.savez(path, **({"X": NUMBERS} if request.param == "npz" else csr), y=LABELS, w=WEIGHTS[:, None], who=GROUPS)
    return path


@pytest.mark.parametrize("n_bytes", [1, 333, 1 << 20])
def test_weights_and_groups_come_with_their_rows(weighted_file, n_bytes, monkeypatch):
    source = open_source(weighted_file, weight="w", group="who", with_target=True)
    monkeypatch.setattr(type(source), "blocks", partialmethod(type(source).blocks, n_bytes))
    rows = source.read()
    assert_array_equal(dense(rows.features), NUMBERS)
    assert_array_equal(rows.y, LABELS)
    assert_array_equal(rows.weight, WEIGHTS)
    assert rows.weight.dtype == np.float64
    assert rows.group.tolist() == GROUPS.tolist()
    assert rows.n_read == source.size
    assert (source.weight, source.group) == ("w", "who")
    assert source.feature_names in (None, ["a", "b", "c"])


def test_weights_and_groups_go_on_from_any_position(weighted_file):
    source = open_source(weighted_file, weight="w", group="who")
    for k, block in enumerate(source.blocks(1)):
        following = next(source.blocks(1, start=block.position), None)
        if following is not None:
            assert (following.weight.tolist(), following.group.tolist()) == ([WEIGHTS[k + 1]], [GROUPS[k + 1]])
    assert k == N_ROWS - 1


def test_weights_and_groups_that_are_not_named_are_features_or_ignored(weighted_file):
    if weighted_file.suffix == ".npz":
        rows = open_source(weighted_file).read()
        assert_array_equal(dense(rows.features), NUMBERS)
    else:
        assert open_source(weighted_file, weight="w").feature_names[-2:] == ["who=über", "c"]
        reading = open_source(weighted_file, weight="w", group="who").reading
        assert reading.part_names == ["a", "b", "c"]
        rows = open_source(weighted_file, reading=reading, with_target=True).read()
        assert_array_equal(rows.features, NUMBERS)
    assert rows.weight is None
    assert rows.group is None


def test_columns_that_cannot_be_the_weight_or_the_group(weighted_file):
    what = "array" if weighted_file.suffix == ".npz" else "column"
    assert f" has no {what} 'z' to be the weight; its {what}s are " in refusal(weighted_file, weight="z")
    assert f" has no {what} 'z' to be the group; its {what}s are " in refusal(weighted_file, group="z")
    message = refusal(weighted_file, weight="w", group="w")
    assert message == f": the {what} 'w' is the weight, so it cannot be the group."
    if what == "column":
        message = refusal(weighted_file, weight="label", group="who", target="label", with_target=True)
        assert message == ": the column 'label' is the weight, so it cannot be the target."
        message = refusal(weighted_file, weight="a", reading=open_source(weighted_file, drop=["who"]).reading)
        assert message == ": the column 'a' is a feature of the model, so it cannot be the weight."
    else:
        message = refusal(weighted_file, group="y")
        assert message == ": the array 'y' is the target, so it cannot be the group."
        message = refusal(weighted_file, weight="indptr" if open_source(weighted_file).sparse else "X")
        assert message.endswith("is part of X, so it cannot be the weight.")


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("-0.5", "column 'w': -0.5 is a negative weight: weights must be 0 or more."),
        ("nan", "column 'w': nan is not a finite number: fill it or drop the row."),
        ("inf", "column 'w': inf is not a finite number: fill it or drop the row."),
        ("", "column 'w': the cell is empty: fill it or drop the row."),
    ],
)
def test_bad_weights_are_refused_with_their_place(tmp_path, cell, message):
    path = write(tmp_path / "rows.csv", f"a,w,y\n1,0,0\n2,-0.0,1\n3,{cell},1\n")
    assert refusal(path, weight="w") == f", line 4, {message}"
    path = tmp_path / "rows.parquet"
    weights = [0.0, -0.0, float(cell) if cell else None]
    pq.write_table(pa.table({"a": [1, 2, 3], "w": weights, "y": [0, 1, 1]}), path, row_group_size=2)
    assert refusal(path, weight="w") == f", row 3, {message}"
    if cell:
        np.savez(tmp_path / "rows.npz", X=np.ones((3, 1)), y=[0, 1, 1], w=weights)
        expected = ": row 3 of w is negative or not finite: weights must be 0 or more."
        assert refusal(tmp_path / "rows.npz", weight="w") == expected


def test_weights_and_groups_of_other_types(tmp_path):
    text = "correct it (2 such cells in all)."
    path = write(tmp_path / "rows.csv", "a,w,y\n1,heavy,0\n2,light,1\n")
    found = ", line 2, column 'w': found 'heavy' where a number is expected: "
    assert refusal(path, weight="w") == found + text
    path = tmp_path / "rows.parquet"
    columns = {"a": [1, 2], "w": ["heavy", "light"], "flag": [True, False], "big": [2**60, 2**60 + 1], "y": [0, 1]}
    pq.write_table(pa.table(columns), path)
    drop = {"drop": ["big"]}
    assert refusal(path, weight="w", **drop) == found.replace("line 2", "row 1") + text
    rows = open_source(path, weight="flag", group="big", drop=["w"]).read()
    assert rows.weight.tolist() == [1.0, 0.0]
    assert rows.group.tolist() == [str(2**60), str(2**60 + 1)]  # as numbers they would be one group
    path = write(tmp_path / "gap.csv", "a,who,y\n1,x,0\n2,,1\n")
    assert ", line 3, column 'who': the cell is empty" in refusal(path, group="who")
    np.savez(tmp_path / "rows.npz", X=np.ones((2, 1)), y=[0, 1], w=["a", "b"], short=[1.0], who=[2**60, 2**60 + 1])
    assert refusal(tmp_path / "rows.npz", weight="w") == ": w is of type <U1, which is not accepted."
    assert refusal(tmp_path / "rows.npz", weight="short") == ": X has 2 rows, but short has the shape (1,)."
    assert open_source(tmp_path / "rows.npz", group="who").read().group.tolist() == [2**60, 2**60 + 1]


@pytest.mark.parametrize("role", ["weight", "group"])
def test_libsvm_has_no_weights_and_no_groups(tmp_path, role):
    path = write(tmp_path / "rows.libsvm", libsvm_text())
    expected = f": {role}= names a column, but LIBSVM text has no column names."
    assert refusal(path, **{role: "w"}) == expected


# CSV


def test_header_false_numbers_the_columns(tmp_path):
    path = write(tmp_path / "rows.csv", "1.5,2,0\n3,4,1\n")
    assert "line 1: found numbers instead of the names of the columns: say header=False." in refusal(path)
    source = open_source(path, header=False, target="x3")
    assert source.feature_names == ["x1", "x2"]
    X, y = source.read()[:2]
    assert X.tolist() == [[1.5, 2], [3, 4]]
    assert y.tolist() == [0, 1]
    assert open_source(write(path, "0,1,2\n3,4,5\n")).feature_names == ["0", "1", "2"]


def test_csv_bools_are_numbers(tmp_path):
    path = write(tmp_path / "rows.csv", "a,b\ntrue,1\nFALSE,2\n")
    assert open_source(path).read()[0].tolist() == [[1, 1], [0, 2]]


def test_csv_quotes(tmp_path):
    text = 'x,"na""me, long",y\n1,"one\n\nline ""more""",0\n\n2,"a,b",1\n3,"a,b",0\n'
    for end in ("\n", "\r\n"):
        source = open_source(write(tmp_path / "rows.csv", text.replace("\n", end)))
        assert source.feature_names == ["x", 'na"me, long=a,b', f'na"me, long=one{end}{end}line "more"']
        for n_bytes in (1, 12, 1000):
            blocks = list(source.blocks(n_bytes))
            assert np.vstack([block.features for block in blocks]).tolist() == [[1, 0, 1], [2, 1, 0], [3, 1, 0]]
        assert len(list(source.blocks(1))) == 3


def test_csv_long_cells(tmp_path):
    long = "x" * (3 << 20)
    path = write(tmp_path / "rows.csv", f"a,b\n1,{long}\n2,{long}\n")
    assert open_source(path).read()[0].tolist() == [[1, 1], [2, 1]]


BAD_CSV = {
    "a,y\r1,2\r": "line 1: its lines end with carriage returns alone",
    "a,b\n": "has a header but no rows",
    "a,b\n1,2\n1\n": "line 3: 1 cells, but there are 2 columns",
    "a,b\n1,2\n\n1,2,3\n": "line 4: 3 cells, but there are 2 columns",
    "a,b\n" + "1,2\n" * 9 + "x,3\n": "line 11, column 'a': found 'x' where a number is expected",
    "a,b\n" + "1,2\n" * 9 + '"1\n",2\nx,3\n': "line 13, column 'a': found 'x'",
    "a,b\n1,-inf\n": "line 2, column 'b': -inf is not a finite number",
    "a,y\n?,0\nNA,1\n": "has no column to learn from: all are left out, such as 'a' (every cell is missing)",
    "a,y\n1,NA\n2,no\n": "line 2, column 'y': found 'NA', a missing value: fill it or drop the row",
    "a,y\n1,no\n2,\n": "line 3, column 'y': the cell is empty",
    "a,y\n1,true\n2,\n": "line 3, column 'y': the cell is empty",
    "a,a\n1,2\n": "has 2 columns called 'a'",
    "a,y\n1,2\nb\xe9,3\n": "line 3: not UTF-8",
    "\xe9,y\n1,2\n": "line 1: not UTF-8",
    'a,y\n1,2\n2,"x\n3,4\n': "line 3: a quote opens a cell that is not closed",
}


@pytest.mark.parametrize("text", BAD_CSV)
def test_csv_faults_are_refused(tmp_path, text):
    assert BAD_CSV[text] in refusal(write(tmp_path / "rows.csv", text.encode("latin-1")))


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("x,0", "column 'a': found 'x'"),
        ("1", "1 cells"),
        ("1,", "column 'y': the cell is empty"),
    ],
)
def test_csv_faults_after_the_guessed_rows_are_refused(tmp_path, monkeypatch, cell, message):
    """Past the rows that the kinds of the columns were found in, and in the middle of a block."""
    monkeypatch.setattr("aucmax.files.delimited.GUESS_BYTES", 100)
    path = write(tmp_path / "rows.csv", "a,y\n" + "1.5,0\n" * 300)
    reading = open_source(path).reading
    write(path, "a,y\n" + "1.5,0\n" * 300 + cell + "\n" + "1.5,0\n" * 300)
    for n_bytes in (50, 1000, 1 << 20):
        monkeypatch.setattr("aucmax.files.columns.BLOCK_BYTES", n_bytes)
        with pytest.raises(ValueError, match=f"line 302.*{message}"):
            open_source(path)
        with pytest.raises(ValueError, match=f"line 302.*{message}"):
            list(open_source(path, reading=reading).blocks(n_bytes))


def test_csv_labels_and_columns_of_changing_types(tmp_path, monkeypatch):
    monkeypatch.setattr("aucmax.files.delimited.GUESS_BYTES", 10)
    monkeypatch.setattr("aucmax.files.columns.BLOCK_BYTES", 20)
    path = write(tmp_path / "rows.csv", "a,b,y\n" + "true,1,0\n" * 30 + "maybe,one,no\n" * 30)
    rows = open_source(path).read()
    assert rows.features[[0, -1]].tolist() == [[0, 1, 1, 0], [1, 0, 0, 1]]
    assert rows.y[[0, -1]].tolist() == ["0", "no"]


@pytest.mark.parametrize("delimiter", ["ab", "", '"', "\n", "\r", "\0", "é"])
def test_delimiters_that_separate_no_cells_are_refused(tmp_path, delimiter):
    path = write(tmp_path / "rows.csv", "a,y\n1,0\n2,1\n")
    told = (
        f"delimiter={delimiter!r} separates no cells: it must be one ASCII character, neither a quote nor a line end."
    )
    with pytest.raises(ValueError, match="separates no cells") as error:
        open_source(path, delimiter=delimiter)
    assert str(error.value) == told


@pytest.mark.parametrize("encoding", ["utf-16", "nonsense", "rot13", "utf-7"])
def test_encodings_in_which_ascii_changes_are_refused(tmp_path, encoding):
    path = write(tmp_path / "rows.csv", "a,y\n1,0\n2,1\n")
    with pytest.raises(
        ValueError, match=f"^encoding='{encoding}' is not accepted: it must be one in which ASCII stays"
    ):
        open_source(path, encoding=encoding)


@pytest.mark.parametrize("encoding", ["UTF8", "utf-8-sig", "latin-1", "cp1252", "shift_jis"])
def test_other_encodings_are_read(tmp_path, encoding):
    path = write(tmp_path / "rows.csv", "a,y\n1,0\n2,1\n".encode(encoding))
    assert open_source(path, encoding=encoding).read().features.tolist() == [[1], [2]]


# Parquet


def test_parquet_types(tmp_path):
    path = tmp_path / "rows.parquet"
    columns = {
        "int": pa.array([1, 2], pa.int32()),
        "big": pa.array([2**63 - 1, 0], pa.int64()),
        "half": pa.array([0.5, 1], pa.float32()),
        "flag": pa.array([True, False]),
        "mo.ney": pa.array([1, 2], pa.decimal128(9, 2)),
        "y": pa.array(["no", "yes"], pa.large_string()),
    }
    pq.write_table(pa.table(columns), path)
    X, y = open_source(path).read()[:2]
    assert X.tolist() == [[1, 2.0**63, 0.5, 1, 1], [2, 0, 1, 0, 2]]
    assert y.tolist() == ["no", "yes"]


@pytest.mark.parametrize(
    ("column", "options", "message"),
    [
        (pa.array([[1], [2]]), {}, "such as 'x' (the type list<element: int64> is not read)."),
        (pa.array([1.0, np.inf]), {}, "row 2, column 'x': inf is not a finite number"),
        (pa.array([1.0, None]), {"target": "x"}, "row 2, column 'x': the cell is empty"),
        (pa.array([1.0, np.nan]), {"weight": "x"}, "row 2, column 'x': nan is not a finite number"),
        (pa.array(["a", None]), {"group": "x"}, "row 2, column 'x': the cell is empty"),
        (pa.nulls(2), {}, "such as 'x' (every cell is missing)."),
    ],
)
def test_parquet_faults_are_refused(tmp_path, column, options, message):
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"x": column, "y": [0, 1]}), path, row_group_size=1)
    assert message in refusal(path, **options)


def test_parquet_without_rows(tmp_path):
    pq.write_table(pa.table({"x": pa.array([], pa.float64())}), tmp_path / "rows.parquet")
    assert "has no rows" in refusal(tmp_path / "rows.parquet")


# npz


@pytest.mark.parametrize("dtype", [np.float32, np.uint8, np.int64, np.bool_, np.float16])
@pytest.mark.parametrize("order", ["C", "F"])
def test_npz_reads_arrays_of_other_types(tmp_path, dtype, order):
    X = np.array(rng.integers(0, 2, (9, 4)), dtype=dtype, order=order)
    labels = np.array(["no", "yes", "no"] * 3)
    for y in (labels, labels.astype(bytes), np.array([True, False, False] * 3), np.arange(9)[:, None]):
        np.savez(tmp_path / "rows.npz", X_train=X, y_train=y, X_test=X)
        source = open_source(tmp_path / "rows.npz", with_target=True)
        for start in range(9):
            block = next(source.blocks(100, start=start))
            assert_array_equal(block.features, X[start : start + 3])
            assert block.features.dtype == np.float64
            expected = y.astype(str) if y.dtype.kind == "S" else y
            assert block.y.tolist() == expected.ravel()[start : start + 3].tolist()
        assert block.y.dtype == {"U": object, "S": object, "b": bool, "i": float}[y.dtype.kind]


def test_sparse_npz_is_made_canonical(tmp_path):
    arrays = {"data": [1, 2, 3], "indices": [2, 0, 2], "indptr": [0, 3], "shape": [1, 3]}
    np.savez(tmp_path / "rows.npz", **arrays)
    X, y = open_source(tmp_path / "rows.npz").read()[:2]
    assert X.has_canonical_format
    assert X.toarray().tolist() == [[2, 0, 4]]
    assert y is None


CSR = {"data": np.ones(2), "indices": np.array([0, 1]), "indptr": np.array([0, 1, 2]), "shape": np.array([2, 2])}


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"a": [1], "b": [2]}, "its arrays are a, b, but accepted are X and y"),
        ({}, "its arrays are none"),
        ({"X": np.ones((2, 2))}, "has no array 'y' to be the target; its arrays are X."),
        ({"X": np.ones((2, 2)), "y": [1, 2, 3]}, "X has 2 rows, but y has the shape (3,)"),
        ({"X": np.ones(2), "y": [1, 2]}, "X has the shape (2,)"),
        ({"X": np.ones((0, 2)), "y": []}, "X has no rows"),
        ({"X": 3.0, "y": 1}, "X has no rows"),
        ({"X": np.ones((2, 0)), "y": [1, 2]}, "has no columns"),
        ({"X": np.ones((2, 2), complex), "y": [1, 2]}, "X is of type complex128"),
        ({"X": np.array([["a"]]), "y": [1]}, "X is of type <U1"),
        ({"X": np.array([[{}]]), "y": [1]}, "X is of type object"),
        ({"X": np.array([[1, 2], [3, np.nan]]), "y": [1, 2]}, "row 2, column 2 of X is not a finite number"),
        ({"X": np.ones((2, 2)), "y": [1, np.inf]}, "row 2 of y is empty or not finite"),
        ({"X": np.ones((2, 2)), "y": ["a", ""]}, "row 2 of y is empty or not finite"),
        (CSR | {"format": b"csc", "y": [0, 1]}, "a sparse matrix in the format 'csc': convert it with tocsr()"),
        (CSR | {"indices": np.array([0, 7]), "y": [0, 1]}, "damaged"),
        (CSR | {"indices": np.array([0, -7]), "y": [0, 1]}, "damaged"),
        (CSR | {"indptr": np.array([0, 9, 2]), "y": [0, 1]}, "damaged"),
        (CSR | {"indptr": np.array([0, 2**20, 0]), "y": [0, 1]}, "damaged"),  # SciPy would look at no index
        (CSR | {"indptr": np.array([0, 1.5, 2]), "y": [0, 1]}, "damaged"),
        (CSR | {"shape": np.array([2, -2]), "y": [0, 1]}, "damaged"),
        (CSR | {"shape": np.array(2), "y": [0, 1]}, "damaged"),
        (CSR | {"data": np.array([{}, {}]), "y": [0, 1]}, "pickled objects are not read"),
        (CSR | {"data": np.array([1, np.nan]), "y": [0, 1]}, "row 2, column 2 of X"),
    ],
)
def test_npz_faults_are_refused(tmp_path, arrays, message):
    np.savez(tmp_path / "rows.npz", **arrays)
    assert message in refusal(tmp_path / "rows.npz", with_target=True)


@pytest.mark.parametrize("n_rows", [10**15, -1])
def test_npz_with_fewer_rows_than_it_says(tmp_path, n_rows):
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (n_rows, 2)})
    with zipfile.ZipFile(tmp_path / "rows.npz", "w") as archive:
        archive.writestr("X.npy", header.getvalue() + bytes(160))
    assert "damaged or cut short" in refusal(tmp_path / "rows.npz")


# Anything at all


def survives(path, **options):
    """Read a file, which may be refused in a sentence and may do nothing else."""
    try:
        source = open_source(path, **options)
        X, _ = source.read()[:2]
    except (ValueError, OSError) as error:
        kind, message = type(error), str(error)
    else:
        assert np.isfinite(X.data if sparse.issparse(X) else X).all()
        assert X.shape[1] == (source.n_features or X.shape[1]) > 0
        return
    assert kind.__module__ in ("builtins", "aucmax._text", "aucmax.files.source")  # not one of a library's
    assert str(path) in message
    assert "\n" not in message


FUZZ = settings(
    derandomize=True, deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@FUZZ
@given(content=st.one_of(st.binary(max_size=80), st.text('01.5,;"\n\rab\t:#é', max_size=60).map(str.encode)))
@pytest.mark.parametrize("format", [*FORMATS, None])
def test_open_source_of_random_bytes(tmp_path, content, format):
    path = write(tmp_path / "rows", content)
    survives(path, format=format)
    survives(path, format="csv", header=False)


@settings(FUZZ, max_examples=50)
@given(places=st.lists(st.tuples(st.floats(0, 1), st.integers(0, 255)), min_size=1, max_size=4))
def test_open_source_of_mutated_files(number_file, places):
    whole = number_file.read_bytes()
    damaged = bytearray(whole)
    for place, byte in places:
        damaged[int(place * (len(whole) - 1))] = byte
    try:
        survives(write(number_file, bytes(damaged)))
    finally:
        number_file.write_bytes(whole)


def test_parquet_labels_beyond_2_53_are_refused(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet

    path = tmp_path / "rows.parquet"
    pa.parquet.write_table(pa.table({"a": [1.0, 2.0], "y": [2**60, 2**60 + 1]}), path)
    with pytest.raises(ValueError, match=r"rows\.parquet, row 1, column 'y': the label .* is 2\^53 or more"):
        open_source(path).read()


def test_csv_digits_with_leading_zeros_are_categories(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("code,amount,year,y\n" + "05914,1.5,2024,1\n10115,0.5,1999,0\n" * 30, encoding="utf-8")
    for size in (1 << 20, 200):
        source = open_source(path)
        found = np.concatenate([block.features for block in source.blocks(size)])
        assert [column.kind for column in source.reading.columns] == ["category", "number", "number"]
        assert_array_equal(np.unique(found, axis=0)[:, -2:], [[0.5, 1999], [1.5, 2024]])


HALF = 3000  # in each half of a file: the first megabyte, by which columns of numbers are found, is in the first one
HALVES = {
    "codes": (lambda k: f"{10000 + k % 50}", lambda k: f"0{1000 + k % 50}"),
    "codes in quotes": (lambda k: f"{10000 + k % 50}", lambda k: f'"0{1000 + k % 50}"'),
    "zeros of numbers": (lambda k: f"{k % 50}", lambda k: f"00{k % 50}"),
    "zeros of decimals": (lambda k: f"{k % 50}.5", lambda k: f"0{k % 50}"),
    "infinities": (lambda k: f"{k % 50}.5", lambda k: "inf"),
    "truth": (lambda k: f"{k % 2}", lambda k: ("true", "false")[k % 2]),
    "text": (lambda k: f"{k % 50}", lambda k: f"level {k % 50}"),
    "dates": (lambda k: f"2024010{k % 9 + 1}", lambda k: f"2024-01-0{k % 9 + 1}"),
    "times": (lambda k: f"{k % 50}", lambda k: f"05:{k % 50 + 10}"),
    "thousands": (lambda k: f"{k % 50}", lambda k: f'"1,{k % 50 + 100}"'),
    "nothing": (lambda k: "", lambda k: f"0{k % 50 + 10}"),
    "plain": (lambda k: f"{k % 50}", lambda k: f"{k % 70}"),
}


def read_halves(path, halves):
    """Return how a file is read whose columns have these cells in the first and in the second half of its rows."""
    cells = [[half(k) for half in one] for one in zip(*halves, strict=True) for k in range(HALF)]
    rows = "".join(f"{','.join(row)},{'x' * 400},{k % 2}\n" for k, row in enumerate(cells))
    try:
        reading = open_source(write(path, ",".join([*map(str, range(len(halves))), "wide", "y"]) + "\n" + rows)).reading
    except ValueError as error:
        return re.sub(r"line \d+", "line", str(error))
    return repr(reading), [(part.levels, part.counts.tolist()) for part in reading.parts]


@pytest.mark.parametrize("n_bytes", [1 << 19, 8 << 20])
def test_what_a_column_is_does_not_depend_on_the_order_of_the_rows(tmp_path, n_bytes, monkeypatch):
    monkeypatch.setattr("aucmax.files.columns.BLOCK_BYTES", n_bytes)
    turned = [halves[::-1] for halves in HALVES.values()]
    found = [read_halves(tmp_path / "rows.csv", halves) for halves in (list(HALVES.values()), turned)]
    assert found[0] == found[1]
    for name, halves in HALVES.items():  # alone, no other column makes the reader doubt a chunk
        found = [read_halves(tmp_path / "rows.csv", [each]) for each in (halves, halves[::-1])]
        assert found[0] == found[1], name
    assert "category  100 levels; digits with leading zeros" in read_halves(tmp_path / "r.csv", [HALVES["codes"]])[0]
