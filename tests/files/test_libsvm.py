"""The LIBSVM reader: bitwise the values of scikit-learn's reader, or one sentence that names the line."""

import io
import math
import re
from itertools import islice

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.datasets import load_svmlight_file

from aucmax.files import open_source

FAST = settings(derandomize=True, deadline=None, max_examples=150)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("libsvm")


def write(folder, text):
    path = folder / "rows.libsvm"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def assert_same(X, y, X_expected, y_expected):
    for found, expected in [(X.data, X_expected.data), (y, y_expected)]:
        assert_array_equal(found.view(np.int64), np.asarray(expected, dtype=np.float64).view(np.int64))
    assert_array_equal(X.indices, X_expected.indices)
    assert_array_equal(X.indptr, X_expected.indptr)
    assert X.shape == X_expected.shape
    assert X.indices.dtype == X.indptr.dtype == np.int32
    assert X.has_canonical_format


def join(blocks):
    """All rows of blocks that may grow wider."""
    width = max(block.features.shape[1] for block in blocks)
    for block in blocks:
        block.features.resize((block.features.shape[0], width))
    X = sparse.csr_array(sparse.vstack([block.features for block in blocks], format="csr"))
    return X, np.concatenate([block.y for block in blocks])


numbers = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(-1e6, 1e6),
    st.floats(1e-300, 1e-280),
    st.sampled_from([0.0, -0.0, 5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, 1e22, 1e23, 2.0**53 + 2]),
)
spellings = st.sampled_from(["{!r}", "{:.16e}", "{:.17g}", "{:.18e}", "{:.6f}", "{:+.3e}", "{:.25e}", "{:.20f}"])
spelled = st.builds(str.format, spellings, numbers).filter(lambda text: math.isfinite(float(text)))


@st.composite
def lines(draw):
    rows = []
    for _ in range(draw(st.integers(1, 6))):
        indices = sorted(draw(st.sets(st.integers(1, 400), max_size=5)))
        values = [draw(spelled) for _ in indices]
        space = draw(st.sampled_from([" ", "  ", "\t", " \t "]))
        pairs = [f"{index}:{value}" for index, value in zip(indices, values, strict=True)]
        label = draw(st.sampled_from(["1", "-1", "+1", "0", ".5", "5.", "1e3", "-2.50E-1"]))
        comment = draw(st.sampled_from(["", " ", " # note 3:4", "#x"]))
        rows.append(space.join([label, *pairs]) + comment)
        rows += draw(st.sampled_from([[], [""], ["# a comment"], ["   "]]))
    end = draw(st.sampled_from(["\n", "\r\n"]))
    return end.join([*rows, draw(st.sampled_from(["", " 1 1:1", "-1 7:2"]))])


@FAST
@given(text=lines(), n_bytes=st.sampled_from([1, 7, 30, 200, 1 << 20]))
def test_libsvm_is_bitwise_what_scikit_learn_reads(folder, text, n_bytes):
    X, y = load_svmlight_file(io.BytesIO(text.encode()), zero_based=False)
    source = open_source(write(folder, text))
    if X.shape[1] == 0 or X.nnz == 0:
        with pytest.raises(ValueError, match="no columns"):
            source.read()
    else:
        assert_same(*source.read()[:2], X, y)
        assert_same(*join(list(source.blocks(n_bytes))), X, y)


@FAST
@given(
    digits=st.text("0123456789", min_size=15, max_size=22),
    point=st.integers(0, 15),
    exponent=st.integers(-45, 30),
)
def test_libsvm_rounds_long_decimals_as_python_does(folder, digits, point, exponent):
    decimal = f"{digits[:point]}.{digits[point:]}e{exponent}"
    X, _ = open_source(write(folder, f"1 1:{decimal} 2:-{digits}\n")).read()[:2]
    assert X.data.tolist() == [float(decimal), -float(digits)]


wholes = st.one_of(
    st.integers(0, 10**30),
    st.builds(lambda k, r: abs(k * 2**64 + r), st.integers(1, 10**6), st.sampled_from([0, 0, 1, -1, 2**11])),
)


@FAST
@given(whole=wholes, zeros=st.integers(0, 3), point=st.sampled_from(["", ".", ".00"]), sign=st.sampled_from("+-"))
@example(whole=2**64, zeros=0, point="", sign="+")
def test_libsvm_reads_whole_numbers_beyond_64_bits(folder, whole, zeros, point, sign):
    decimal = f"{sign}{'0' * zeros}{whole}{point}"
    X, y = open_source(write(folder, f"{decimal} 1:{decimal} 2:{decimal}e-3\n")).read()[:2]
    assert [*X.data.tolist(), *y.tolist()] == [float(decimal), float(f"{decimal}e-3"), float(decimal)]


def test_libsvm_rounds_ties_between_two_doubles(folder):
    integers = [2**53 + 1, 2**53 + 3, 2**60 + 2**7, 2**60 + 3 * 2**7, 2**63 + 2**10, 2**64 - 1]
    decimals = [str(k) for k in integers] + [f"{k}e0" for k in integers] + [f"{5 * k}e-1" for k in integers]
    decimals += [
        "9007199254740993e-22",
        "0.1000000000000000055511151231257827",
        "00000000000000000000000001.5",
        "0e999",
    ]
    text = " ".join(f"{k}:{decimal}" for k, decimal in enumerate(decimals, 1))
    X, _ = open_source(write(folder, f"1 {text}\n")).read()[:2]
    assert X.data.tolist() == [float(decimal) for decimal in decimals]


def near_ties():
    """Decimals of up to 19 digits that miss the middle of two doubles by about 2^-105 of their value, or less."""
    for k in range(18, 23):
        five = 5**k
        for t in range(40, 62):
            for r in (-1, 1):
                # m 10^-k: m 2^t = (2 M + 1) 5^k + r
                odd = -r * pow(five, -1, 2**t) % 2**t
                odd += -(-(2**53 - odd) // 2**t) * 2**t if odd < 2**53 else 0
                yield (odd * five + r) // 2**t, -k
                # m 10^k: m 5^k = (2 M + 1) 2^t + r
                m = (2**t + r) * pow(five, -1, 2 ** (t + 1)) % 2 ** (t + 1)
                m += -(-(2 ** (53 + t) // five - m) // 2 ** (t + 1)) * 2 ** (t + 1)
                yield m, k


def test_libsvm_rounds_decimals_near_a_tie(folder):
    decimals = [f"{m}e{exponent}" for m, exponent in near_ties() if 2**53 < m < 10**19]
    assert len(decimals) > 100
    X, _ = open_source(write(folder, "".join(f"1 1:{decimal}\n" for decimal in decimals))).read()[:2]
    assert X.data.tolist() == [float(decimal) for decimal in decimals]


def test_zero_based_and_width(folder):
    path = write(folder, "1 0:3 2:4\n0 1:5\n")
    X, _ = open_source(path, zero_based=True).read()[:2]
    assert X.toarray().tolist() == [[3, 0, 4], [0, 5, 0]]
    assert open_source(path, zero_based=True, n_features=7).read()[0].shape == (2, 7)
    assert all(block.features.shape[1] == 7 for block in open_source(path, zero_based=True, n_features=7).blocks(1))
    with pytest.raises(ValueError, match=r"line 1: index '2' is beyond the 2 features"):
        open_source(path, zero_based=True, n_features=2).read()


def test_libsvm_largest_index(folder):
    X, _ = open_source(write(folder, f"1 {2**31 - 2}:1\n")).read()[:2]
    assert X.shape[1] == 2**31 - 2
    X, _ = open_source(write(folder, f"1 {2**31 - 2}:1\n"), zero_based=True).read()[:2]
    assert X.shape[1] == 2**31 - 1


def test_libsvm_without_entries_needs_n_features(folder):
    X, y = open_source(write(folder, "1\n-1\n"), n_features=3).read()[:2]
    assert X.shape == (2, 3)
    assert y.tolist() == [1, -1]
    assert open_source(write(folder, "1\n"), n_features=3, with_target=False).read()[1] is None


BAD = {
    "1 1:2\n-1 3\n": "line 2: found '3' where index:value is expected",
    "1 1:2\n\n# c\n-1 a:3\n": "line 4: found 'a:3' where index:value",
    "1 -1:3\n": "line 1: found '-1:3' where index:value",
    "1 :3\n": "line 1: found ':3'",
    "1 qid:3 1:2\n": "line 1: 'qid:3' puts the row into a group",
    "1 0:3\n": "line 1: index 0, but LIBSVM counts from 1: say zero_based=True",
    "1 2:3 1:3\n": "line 1: index '1' does not come after",
    "1 2:3 2:3\n": "line 1: index '2' does not come after",
    "one 1:3\n": "line 1: the label 'one' is not a number",
    "1,2 1:3\n": "line 1: the label '1,2' is not a number",
    "1_0 1:3\n": "line 1: the label '1_0' is not a number",
    "1 1:1_000\n": "line 1: the value '1_000' is not a number",
    "nan 1:3\n": "line 1: the label 'nan' is not a finite number",
    "1 1:\n": "line 1: the value '' is not a number",
    "1 1:2:3\n": "line 1: the value '2:3' is not a number",
    "1 1:1e\n": "line 1: the value '1e' is not a number",
    "1 1:1.2.3\n": "line 1: the value '1.2.3' is not a number",
    "1 1:.\n": "line 1: the value '.' is not a number",
    "1 1:+-1\n": r"line 1: the value '\+-1' is not a number",
    "1 1:inf\n": "line 1: the value 'inf' is not a finite number",
    "1 1:1e400\n": "line 1: the value '1e400' is not a finite number",
    "1 2147483647:1\n": "line 1: index '2147483647' is above 2147483646",
    "1 99999999999999999999:1\n": "line 1: index '99999999999999999999' is above",
    "1 1:x 0:2\n": "line 1: the value 'x'",  # the first of two faults
    "1\n1\n": "labels but no columns",
    "# nothing\n": "has no rows",
}


@pytest.mark.parametrize("text", BAD)
def test_libsvm_refuses_bad_files(folder, text):
    with pytest.raises(ValueError, match=BAD[text]) as caught:
        open_source(write(folder, text)).read()
    assert str(caught.value).startswith(str(folder / "rows.libsvm"))


def test_line_numbers_after_a_start(folder):
    source = open_source(write(folder, "1 1:1\n\n1 1:2\n1 1:3\n1 1:4 x\n"))
    *_, last = islice(source.blocks(1), 3)
    with pytest.raises(ValueError, match="line 5: found 'x'"):
        list(source.blocks(1, start=last.position))


# A reader of a few lines, to judge what mutated files mean

NUMBER = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(inf|infinity|nan)", re.IGNORECASE)


def reference(text):
    """Labels and rows of pairs, or None where something is wrong."""
    text, result = text.removeprefix(b"\xef\xbb\xbf"), []
    for line in text.split(b"\n"):
        tokens = line.partition(b"#")[0].split()
        pairs = [re.fullmatch(rb"(\d+):(.*)", token, re.DOTALL) for token in tokens[1:]]
        if not all(pairs) or not all(NUMBER.fullmatch(value) for value in [*tokens[:1], *(p[2] for p in pairs)]):
            return None
        indices, values = [int(p[1]) for p in pairs], [float(p[2]) for p in pairs]
        if any(b <= a for a, b in zip([0, *indices], indices, strict=False)) or max(indices, default=0) > 2**31 - 2:
            return None
        if not all(map(math.isfinite, values + [float(token) for token in tokens[:1]])):
            return None
        if tokens:
            result.append((float(tokens[0]), indices, values))
    return result if any(indices for _, indices, _ in result) else None


def assert_as_reference(folder, text, n_bytes):
    expected = reference(text)
    path = write(folder, text)
    try:
        blocks = list(open_source(path, format="libsvm").blocks(n_bytes))
    except ValueError as error:
        message = str(error)
    else:
        message = None
    if message is not None:
        assert expected is None or b"\0" in text
        assert str(path) in message
        assert "\n" not in message
        return
    found = [
        (label, (block.features.indices[a:b] + 1).tolist(), block.features.data[a:b].tolist())
        for block in blocks
        for label, a, b in zip(block.y.tolist(), block.features.indptr[:-1], block.features.indptr[1:], strict=True)
    ]
    assert found == expected


@settings(FAST, max_examples=300)
@given(text=st.text("0123456789.:+-eE #\n\r\tnaifqd_x,", max_size=40), n_bytes=st.sampled_from([1, 10, 1000]))
def test_libsvm_of_random_text(folder, text, n_bytes):
    assert_as_reference(folder, text.encode(), n_bytes)


@FAST
@given(text=st.binary(max_size=60))
def test_libsvm_of_random_bytes(folder, text):
    assert_as_reference(folder, text, 20)


@settings(FAST, max_examples=300)
@given(data=st.data())
def test_libsvm_of_mutated_files(folder, data):
    text = bytearray(b"+1 1:0.25 3:17 4:-2e-3\n-1 2:1.5 3:1 # note\n\n1 1:1\n-1 7:12345678901234567890\r\n")
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(text) - 1))
        byte = data.draw(st.one_of(st.sampled_from(b"0123456789.:+-eE# \n\t"), st.integers(0, 255)))
        kind = data.draw(st.sampled_from(["set", "insert", "delete", "cut"]))
        if kind == "cut":
            text = text[: place + 1]
        else:
            text[place : place + (kind != "insert")] = b"" if kind == "delete" else bytes([byte])
        text = text or bytearray(b" ")
    assert_as_reference(folder, bytes(text), data.draw(st.sampled_from([1, 15, 1000])))
