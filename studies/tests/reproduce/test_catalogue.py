import bz2
import lzma
import re
import socket
import sys
import types
import warnings
from collections import Counter
from urllib.error import URLError

import numpy as np
import pytest
import sklearn.datasets
from scipy import sparse
from sklearn.datasets import load_svmlight_file

from aucmax_studies.common import realdata
from aucmax_studies.reproduce.catalogue import PATIENCE, Unavailable, catalogue, find_files, find_folder, load

NAMES = list(catalogue())


@pytest.fixture(autouse=True)
def offline(monkeypatch):
    """No folder in the environment, no libsvmdata, no network."""
    monkeypatch.delenv("AUCMAX_DATA", raising=False)
    monkeypatch.setitem(sys.modules, "libsvmdata", None)
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fail(URLError("no network")))


def fail(error):
    def fetch(*arguments, **options):
        raise error

    return fetch


@pytest.fixture
def libsvmdata(monkeypatch):
    """Return a dict that stands for what libsvmdata has."""
    copies = {}
    module = types.SimpleNamespace(fetch_dataset=lambda name: copies[name])
    monkeypatch.setitem(sys.modules, "libsvmdata", module)
    return copies


@pytest.fixture
def openml(monkeypatch):
    """Return a dict that stands for what OpenML has."""
    copies = {}

    def fetch_openml(*, data_id, as_frame, return_X_y, **others):
        assert (as_frame, return_X_y) == (False, True)
        return copies[data_id]

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch_openml)
    return copies


def texts(*labels):
    return np.array(labels, dtype=object)


# The catalogue


@pytest.mark.parametrize("name", NAMES)
def test_entry(name):
    entry = catalogue()[name]
    assert entry.files
    assert all(isinstance(file, str) for file in entry.files)
    assert entry.columns > 0
    assert entry.positive
    assert all(isinstance(label, int) for label in entry.positive)
    for spelling in entry.spellings:
        assert set(entry.positive) < set(spelling.values())
        assert len(set(spelling.values())) == len(spelling)
    assert len({frozenset(spelling) for spelling in entry.spellings}) == len(entry.spellings)


def test_ranges_of_classes():
    assert catalogue()["news20"].positive == tuple(range(11, 21))
    assert len(catalogue()["aloi"].positive) == 500


def test_unknown_names():
    with pytest.raises(ValueError, match=r"^There is no data set 'diabets' in the catalogue \(closest: diabetes\)\.$"):
        load("diabets")
    with pytest.raises(ValueError, match=r"\(there are diabetes, fourclass, .*, epsilon\)\.$"):
        load("??")


# Files


def test_a_file_under_each_name(tmp_path):
    """The name of the catalogue comes first, then its stem, then LIBSVM's name, each compressed or not."""
    text = b"+1 1:%d\n-1 2:1\n"
    for k, (name, pack) in enumerate(
        [
            ("ijcnn1.xz", lzma.compress),
            ("ijcnn1", bytes),
            ("ijcnn1_recon", bytes),
            ("ijcnn1_recon.bz2", bz2.compress),
        ],
        start=1,
    ):
        (tmp_path / name).write_bytes(pack(text % k))
        data = load("ijcnn1", data_dir=tmp_path)
        assert data.name == "ijcnn1"
        assert data.features.shape == (2, 22)
        assert data.features[0, 0] == k
        assert data.y.tolist() == [1, 0]
        assert data.labels.tolist() == [1, -1]
        assert (data.features.dtype, data.y.dtype) == (np.float64, np.int64)


def test_several_files_are_stacked(tmp_path):
    (tmp_path / "usps.bz2").write_bytes(bz2.compress(b"6 1:1\n7 1:2\n8 2:3\n"))
    (tmp_path / "usps_test").write_bytes(b"1 1:1\n")  # what libsvmdata calls it, and no file is called
    assert find_files(catalogue()["usps-all"], tmp_path) is None
    (tmp_path / "usps.t").write_bytes(b"9 256:4\n10 1:1\n5 1:6\n")
    data = load("usps-all", data_dir=tmp_path)
    assert data.labels.tolist() == [6, 7, 8, 9, 10, 5]
    assert data.y.tolist() == [1, 1, 1, 1, 1, 0]
    assert data.features[:, [0, 1, 255]].tolist() == [[1, 0, 0], [2, 0, 0], [0, 3, 0], [0, 0, 4], [1, 0, 0], [6, 0, 0]]


def test_sparse_files_are_stacked(tmp_path):
    (tmp_path / "sector").write_text("".join(f"{label} {label}:1\n" for label in range(50, 80)), encoding="utf-8")
    (tmp_path / "sector.t").write_text(
        "".join(f"{label} 55197:{label}\n" for label in range(80, 106)), encoding="utf-8"
    )
    data = load("sector", data_dir=tmp_path)
    assert isinstance(data.features, sparse.csr_array)
    assert data.features.shape == (56, 55197)
    assert data.features[[55], [55196]] == 105
    assert data.y.tolist() == [0] * 3 + [1] * 53


def test_npz(tmp_path):
    images = np.arange(20 * 784, dtype=np.uint8).reshape(20, 28, 28)
    digits = np.arange(20) % 10
    np.savez(tmp_path / "mnist.npz", X_train=images, y_train=digits, X_test=images[:1], y_test=digits[:1])
    data = load("mnist-8", data_dir=tmp_path)
    assert np.array_equal(data.features, images.reshape(20, 784))
    assert data.features.dtype == np.float64
    assert data.y.tolist() == (digits == 8).tolist()
    assert data.labels.tolist() == digits.tolist()


def test_a_folder_is_no_file(tmp_path):
    (tmp_path / "letter").mkdir()
    with pytest.raises(Unavailable):
        load("letter", data_dir=tmp_path)


def test_a_file_of_other_columns(tmp_path):
    (tmp_path / "fourclass").write_text("1 3:1\n-1 1:1\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"fourclass, line 1: index '3' is beyond the 2 features"):
        load("fourclass", data_dir=tmp_path)


def test_folder_of_the_environment(tmp_path, monkeypatch):
    assert find_folder(None) is None
    monkeypatch.setenv("AUCMAX_DATA", str(tmp_path))
    assert find_folder(None) == tmp_path
    (tmp_path / "other").mkdir()
    assert find_folder(str(tmp_path / "other")) == tmp_path / "other"
    with pytest.raises(ValueError, match=r"missing is no folder: name the one that has the data sets\.$"):
        find_folder(tmp_path / "missing")
    monkeypatch.setenv("AUCMAX_DATA", "")
    assert find_folder(None) is None


# Labels, columns, rows


@pytest.mark.parametrize("rows", ["1 1:6\n0 1:1\n", "-1 1:6\n+1 1:1\n"])
def test_the_diabetic_ones_are_positive_in_each_copy(tmp_path, rows):
    (tmp_path / "diabetes").write_text(rows, encoding="utf-8")
    data = load("diabetes", data_dir=tmp_path)
    assert data.y.tolist() == data.labels.tolist() == [1, 0]
    assert load("diabetes", data_dir=tmp_path, positive=[0]).y.tolist() == [0, 1]


@pytest.mark.parametrize("labels", [(0, 1, 2), (0, -1, 1)])
def test_connect_4_in_each_copy(tmp_path, labels):
    (tmp_path / "connect-4").write_text("".join(f"{label} 1:1\n" for label in labels), encoding="utf-8")
    assert load("connect-4", data_dir=tmp_path).labels.tolist() == [0, 1, 2]
    assert load("connect-4", data_dir=tmp_path, positive=[1]).y.tolist() == [0, 1, 0]


def test_labels_that_are_but_some_of_a_spelling_are_left(tmp_path):
    (tmp_path / "connect-4").write_text("0 1:1\n1 1:1\n", encoding="utf-8")  # draws and losses of a file without wins
    assert load("connect-4", data_dir=tmp_path).labels.tolist() == [0, 1]


def test_labels_are_kept_to_the_last_digit(tmp_path):
    (tmp_path / "fourclass").write_text("1 1:1\n0.1 1:1\n123456789.5 1:1\n", encoding="utf-8")
    assert load("fourclass", data_dir=tmp_path).labels.tolist() == [1, 0.1, 123456789.5]


@pytest.mark.parametrize("positive", [[3], [1, 3], [1, -1], []])
def test_labels_that_are_not_there(tmp_path, positive):
    (tmp_path / "fourclass").write_text("1 1:1\n-1 1:1\n", encoding="utf-8")
    message = f"fourclass: positive must be some of its labels (-1, 1) and not all; got {positive}."
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        load("fourclass", data_dir=tmp_path, positive=positive)


@pytest.fixture
def german(tmp_path):
    """Return a folder with 50 rows, the first column of which counts them."""
    rows = "".join(f"{1 if k % 3 else -1} 1:{k} 2:{k % 7} 24:{-k}\n" for k in range(50))
    (tmp_path / "german.numer").write_text(rows, encoding="utf-8")
    return tmp_path


def test_a_part_of_a_file_by_the_value_of_a_column(tmp_path):
    (tmp_path / "vowel").write_text("6 1:1 4:7\n2 1:0 4:8\n7 1:0 4:9\n1 1:1 4:10\n", encoding="utf-8")
    assert load("vowel", data_dir=tmp_path, positive=[6, 7]).features[:, 3].tolist() == [7, 8, 9, 10]
    part = load("vowel-train", data_dir=tmp_path, positive=[6], drop_columns=[0, 1, 2])
    assert part.features[:, 0].tolist() == [7, 10]
    assert part.y.tolist() == [1, 0]
    assert part.labels.tolist() == [6, 1]


def test_dropped_columns(german):
    whole = load("german", data_dir=german)
    data = load("german", data_dir=german, drop_columns=[0, 2])
    assert np.array_equal(data.features, np.delete(whole.features, [0, 2], axis=1))
    for columns in ([24], [-1], range(24)):
        with pytest.raises(ValueError, match=r"^german: drop_columns must be some of 0 to 23 and not all; got \["):
            load("german", data_dir=german, drop_columns=columns)


def test_dropped_columns_of_sparse_rows(tmp_path):
    (tmp_path / "a9a").write_text("1 1:1 3:3\n-1 2:2 123:4\n", encoding="utf-8")
    X = load("a9a", data_dir=tmp_path, drop_columns=[1, 122]).features
    assert isinstance(X, sparse.csr_array)
    assert X.shape == (2, 121)
    assert X.toarray()[:, :2].tolist() == [[1, 3], [0, 0]]


def test_samples_of_rows(german):
    whole = load("german", data_dir=german)
    rows = np.sort(np.random.default_rng(3).permutation(50)[:20])
    data = load("german", data_dir=german, max_rows=20, seed=3)
    assert np.array_equal(data.features, whole.features[rows])
    assert np.array_equal(data.y, whole.y[rows])
    assert np.array_equal(data.labels, whole.labels[rows])
    assert np.array_equal(load("german", data_dir=german, max_rows=50, seed=3).features, whole.features)
    for max_rows in (0, -5):
        with pytest.raises(ValueError, match=f"^max_rows must be at least 1; got {max_rows}\\.$"):
            load("german", data_dir=german, max_rows=max_rows)


# Downloads


def test_the_folder_comes_before_libsvm_and_libsvm_before_openml(tmp_path, libsvmdata, openml):
    openml[37] = np.full((2, 8), 3.0), texts("tested_positive", "tested_negative")
    assert load("diabetes").features[0, 0] == 3
    libsvmdata["diabetes"] = np.full((2, 8), 2.0, order="F"), np.array([-1.0, 1.0])
    data = load("diabetes", data_dir=tmp_path)
    assert data.features[0, 0] == 2
    assert data.features.flags.c_contiguous
    assert data.y.tolist() == [1, 0]
    (tmp_path / "diabetes.bz2").write_bytes(bz2.compress(b"1 1:1\n0 1:1\n"))
    assert load("diabetes", data_dir=tmp_path).features[0, 0] == 1


def test_labels_of_openml(openml):
    openml[37] = np.zeros((3, 8)), texts("tested_positive", "tested_negative", "tested_positive")
    assert load("diabetes").y.tolist() == [1, 0, 1]
    openml[44] = np.zeros((2, 57)), texts("1", "0")
    assert load("spambase").labels.tolist() == [1, -1]
    openml[40685] = np.zeros((2, 9)), texts("4", "1")
    assert load("shuttle").y.tolist() == [1, 0]
    openml[1120] = np.zeros((2, 10)), texts("gamma", "h")
    with pytest.raises(ValueError, match=r"^magic04: the labels gamma, h are not those of the catalogue\.$"):
        load("magic04")


def test_parts_and_widths_of_libsvmdata(libsvmdata):
    """It gives usps 7,291 columns, as many as rows, and mnist 780, up to the last that is not all zeros."""
    first = sparse.csc_matrix(([1.0, 2.0], ([0, 1], [0, 255])), shape=(2, 7291))
    libsvmdata.update(usps=(first, np.arange(6.0, 8.0)), usps_test=(first[:1], np.array([8.0])))
    with pytest.raises(ValueError, match="positive must be some of its labels"):
        load("usps-all")
    libsvmdata["usps_test"] = sparse.csc_matrix((4, 7291)), np.array([8.0, 9.0, 10.0, 1.0])
    data = load("usps-all")
    assert data.features.shape == (6, 256)
    assert (data.features[0, 0], data.features[1, 255]) == (1, 2)
    libsvmdata["mnist"] = sparse.csc_matrix(np.eye(10, 780)), np.arange(10.0)
    assert np.array_equal(load("mnist").features, np.eye(10, 784))


def test_sparse_rows_of_libsvmdata(libsvmdata):
    libsvmdata["a9a"] = sparse.csc_matrix(np.eye(2, 123, dtype=np.float32)), np.array([1.0, -1.0])
    X = load("a9a").features
    assert isinstance(X, sparse.csr_array)
    assert X.dtype == np.float64
    assert np.array_equal(X.toarray(), np.eye(2, 123))


def test_another_width_is_refused(libsvmdata):
    libsvmdata["fourclass"] = np.ones((2, 3)), np.array([1.0, -1.0])
    with pytest.raises(Unavailable, match=r"LIBSVM \(3 columns where 2 are expected\)"):
        load("fourclass")


def test_servers_may_not_be_silent_for_long(monkeypatch):
    seen = []

    def fetch_dataset(name):
        seen.append(socket.getdefaulttimeout())
        warnings.warn("trying again", UserWarning, stacklevel=1)
        raise TimeoutError("timed\n  out.")

    monkeypatch.setitem(sys.modules, "libsvmdata", types.SimpleNamespace(fetch_dataset=fetch_dataset))
    with pytest.raises(Unavailable, match=r"LIBSVM \(timed out\):"):
        load("epsilon")
    assert seen == [PATIENCE]
    assert socket.getdefaulttimeout() is None


# What cannot be had


def refusal(name, **options):
    with pytest.raises(Unavailable) as caught:
        load(name, **options)
    return str(caught.value)


def test_offline(tmp_path, monkeypatch):
    give = "give data_dir= a folder that has"
    no_package = "libsvmdata is not installed: pip install './studies[papers]'"
    assert refusal("epsilon") == (
        f"epsilon could not be downloaded from LIBSVM ({no_package}): {give} epsilon_normalized.bz2, or go online."
    )
    assert refusal("usps-all", data_dir=tmp_path) == (
        f"usps-all is not in {tmp_path} and could not be downloaded from LIBSVM ({no_package}) or OpenML (no network): "
        f"{give} usps.bz2 and usps.t.bz2, or go online."
    )
    assert refusal("spambase", data_dir=tmp_path, download=False) == (
        f"spambase is not in {tmp_path} and is not to be downloaded: {give} spambase.bz2, or let it be downloaded."
    )
    assert refusal("kddcup04", data_dir=tmp_path) == (
        f"kddcup04 is not in {tmp_path} and cannot be downloaded: {give} kddcup04.bz2."
    )
    monkeypatch.setitem(sys.modules, "libsvmdata", types.SimpleNamespace(fetch_dataset=fail(RuntimeError())))
    assert "LIBSVM (RuntimeError)" in refusal("epsilon")


def test_reasons_are_those_of_the_system(monkeypatch):
    def fetch_dataset(name):
        try:
            raise URLError("Name or service not known")
        except URLError as error:
            raise RuntimeError(f"Error while fetching.\nAborted.\nError: {error}.")  # noqa: B904

    monkeypatch.setitem(sys.modules, "libsvmdata", types.SimpleNamespace(fetch_dataset=fetch_dataset))
    assert "from LIBSVM (Name or service not known):" in refusal("epsilon")


def test_nothing_is_downloaded_unasked(libsvmdata):
    libsvmdata["fourclass"] = np.ones((2, 2)), np.array([1.0, -1.0])
    assert load("fourclass").y.tolist() == [1, 0]
    assert refusal("fourclass", download=False).startswith("fourclass is not to be downloaded")


# The data themselves


def stated():
    """Return what the table of the folder's README says: rows, columns and counts or number of classes of a file."""
    readme = realdata.DATA_DIR / "README.md"
    lines = readme.read_text(encoding="utf-8").splitlines() if readme.exists() else []
    cells = [[cell.strip() for cell in line.split("|")[1:5]] for line in lines if line.startswith("| ")]
    return {file: (int(n), int(d), classes) for file, n, d, classes in cells if n.isdecimal()}


@pytest.mark.data
def test_rows_columns_and_classes_of_the_folder():
    table = stated()
    if not table:
        pytest.skip("no data")
    known = {file for entry in catalogue().values() for file in entry.files}
    assert set(table) <= known
    for name, entry in catalogue().items():
        if not realdata.is_there(name):
            continue
        data = realdata.read(name)
        rows, columns, classes = zip(*(table[file] for file in entry.files), strict=True)
        assert data.features.shape == (sum(rows), columns[0]), name
        counts = Counter(f"{label:g}" for label in data.labels)
        if classes[0].endswith(" classes"):
            assert len(counts) == int(classes[0].split()[0]), name
        else:
            assert counts == {label: int(n) for label, n in re.findall(r"(-?\d+):(\d+)", classes[0])}, name


@pytest.mark.data
@pytest.mark.parametrize("name", ["svmguide3", "w8a", "letter"])
def test_values_are_those_of_other_readers(name):
    if not realdata.is_there(name):
        pytest.skip("no data")
    entry, data = catalogue()[name], realdata.read(name)
    X, labels = load_svmlight_file(str(realdata.DATA_DIR / entry.files[0]), n_features=entry.columns)
    assert sparse.issparse(data.features) == entry.sparse
    assert abs(X - sparse.csr_array(data.features)).sum() == 0
    assert np.array_equal(data.labels, labels)
    assert np.array_equal(data.y, np.isin(labels, entry.positive))
