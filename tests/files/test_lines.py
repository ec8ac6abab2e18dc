"""Text of CSV is cut at the ends of lines, never inside of a quoted cell."""

import csv
import gzip
import io
import itertools
import random

import pyarrow.csv as arrow_csv
import pytest

from aucmax.files import delimited, open_source
from aucmax.files.lines import Quotes, find_opening


def is_open(text, delimiter=b","):
    """Return whether a text ends inside of a quoted cell, byte by byte."""
    state = "beginning"
    for byte in text:
        if byte == ord('"') and state in ("beginning", "after a quote"):
            state = "quoted"
        elif state == "quoted":
            state = "after a quote" if byte == ord('"') else "quoted"
        else:
            state = "beginning" if byte in delimiter + b"\r\n" else "other"
    return state == "quoted"


def feed(parts):
    quotes = Quotes(b",")
    for part in parts:
        quotes.feed(part)
    return quotes.is_open


def test_quotes_of_all_short_texts_are_followed():
    for n in range(6):
        for letters in itertools.product(b'",a\n', repeat=n):
            text = bytes(letters)
            for cut in range(n + 1):
                assert feed([text[:cut], text[cut:]]) == is_open(text), text
            if is_open(text):
                start = find_opening(text, b",")
                assert text[start] == ord('"')
                assert not is_open(text[:start])
                assert all(is_open(text[:k]) or text[k - 1] == ord('"') for k in range(start + 1, n + 1))


def test_quotes_of_longer_texts_in_parts_are_followed():
    rng = random.Random(0)
    for _ in range(500):
        text = bytes(rng.choices(b'",a\n\r', k=40))
        assert feed([text[k : k + 7] for k in range(0, 40, 7)]) == is_open(text)


CELLS = ['"two\nlines"', 'a 5" pipe', '"he said ""no"""', '"a"b', 'x"', '""', '"\r\n,"', "red"]


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_any_blocks_have_the_cells_of_the_csv_module(tmp_path, delimiter):
    rng, path = random.Random(0), tmp_path / "rows.csv"
    lines = [delimiter.join([rng.choice(CELLS), str(k), rng.choice(CELLS), str(k % 2)]) for k in range(30)]
    path.write_bytes(delimiter.join(["a", '"b\nc"', "d", "y"]).encode() + "\r\n".join(["", *lines]).encode())
    expected = list(csv.reader(io.StringIO("\r\n".join(lines), newline=""), delimiter=delimiter))
    for n_bytes in (1, 5, 20, 50, 1 << 20):
        source = open_source(path, keep=["a", "d"])
        kept = [block.kept for block in source.blocks(n_bytes)]
        cells = [[cell for block in kept for cell in block[k]] for k in range(2)]
        assert cells == [[record[0].strip() for record in expected], [record[2].strip() for record in expected]]


def test_a_cell_that_is_not_closed_is_refused_with_the_line_where_it_begins(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text('a,y\n"1 ""x""",0\n"2\n3,1\n4,0\n', encoding="utf-8")
    told = f"{path}, line 3: a quote opens a cell that is not closed before the end of the file."
    with pytest.raises(ValueError, match="not closed") as error:
        open_source(path)
    assert str(error.value) == told


def test_a_byte_order_mark_inside_of_a_file_is_part_of_its_cell(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("\ufeffa,y\n1,0\n\ufeff2,1\n3,0\n", encoding="utf-8")  # two files with marks, one after the other
    for n_bytes in (1, 12, 1 << 20):
        kept = [block.kept[0] for block in open_source(path, keep=["a"]).blocks(n_bytes)]
        assert [cell for cells in kept for cell in cells] == ["1", "\ufeff2", "3"]


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
def test_a_quoted_cell_of_many_lines_is_read_in_few_steps(tmp_path, monkeypatch, packed):
    fed, cell = [], "\n" * 300_000 + '""' + "\n" * 300_000 + "end"
    text = f'a,y\n1,0\n"{cell}",1\n3,0\n'.encode()
    (tmp_path / "rows.csv").write_bytes(gzip.compress(text) if packed else text)
    feed_all = Quotes.feed
    monkeypatch.setattr(Quotes, "feed", lambda self, part: (fed.append(part), feed_all(self, part))[1])
    chunks = list(open_source(tmp_path / "rows.csv")._lines.chunks(10, 0, b","))
    assert [chunk.text.count(b"\n") for chunk in chunks] == [3 + 600_000, 1]
    assert b"".join(chunk.text for chunk in chunks) == text
    assert len(fed) < 2000


def test_columns_beyond_the_most_are_refused_and_many_take_the_spellings_that_are_there(tmp_path, monkeypatch):
    path, given = tmp_path / "rows.csv", []
    convert = arrow_csv.ConvertOptions
    monkeypatch.setattr(arrow_csv, "ConvertOptions", lambda **options: given.append(options) or convert(**options))
    path.write_text("a,b,c,d,y\n1,NA,3,,0\n1.5,2,n/a,5,1\n", encoding="utf-8")
    expected = open_source(path, target="y").read().features
    assert all(len(options["null_values"]) > 50 for options in given)
    given.clear()
    monkeypatch.setattr(delimited, "MANY_COLUMNS", 3)
    features = open_source(path, target="y").read().features
    assert features.tolist() == expected.tolist()
    wide = [set(options["null_values"]) for options in given if len(options["include_columns"]) > 3]
    assert all(words == {"", ".", "NA", "n/a"} for words in wide)
    monkeypatch.setattr(delimited, "MOST_COLUMNS", 4)
    with pytest.raises(ValueError, match=r"rows.csv has 5 columns, and CSV is read up to 4: write them as LIBSVM or"):
        open_source(path)
