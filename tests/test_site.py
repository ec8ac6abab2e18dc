"""The site: its code runs, its tables are those of the package, and its links are checked by a checker that works."""

import ast
import inspect
import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from _ext.names import add_links, find_name
from _tools import algorithms, which_one
from _tools.check_links import check_site
from _tools.printed import run_blocks

import aucmax

DOCS = Path(__file__).parents[1] / "docs"
PAGES = [DOCS / "index.md", DOCS / "start.md", DOCS / "which.md", *sorted((DOCS / "guide").glob("*.md"))]


def names_of(paths):
    return [path.relative_to(DOCS).as_posix() for path in paths]


# The blocks of the other two pages that have some, command_line.md and where.md, run in test_readme.py.
WITH_CODE = [
    path for path in [*PAGES, DOCS / "measured" / "variants.md"] if "```python\n" in path.read_text(encoding="utf-8")
]


def test_no_page_with_code_is_left_out():
    elsewhere = {DOCS / "command_line.md", DOCS / "where.md"}
    written = [path for path in DOCS.rglob("*.md") if not {"auto_examples", "generated"} & set(path.parts)]
    assert {path for path in written if "```py" in path.read_text(encoding="utf-8")} == {*WITH_CODE, *elsewhere}
    languages = {
        each for path in written for each in re.findall(r"^ *```(\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert languages == {"python", "sh", "text"}


def test_no_page_with_commands_is_left_out():
    """Those of CONTRIBUTING.md are targets of the Makefile; the others run in test_readme.py."""
    written = [path for path in DOCS.rglob("*.md") if not {"auto_examples", "generated"} & set(path.parts)]
    assert {path.name for path in written if "```sh" in path.read_text(encoding="utf-8")} == {
        "index.md",
        "start.md",
        "command_line.md",
    }


@pytest.mark.parametrize("page", WITH_CODE, ids=names_of(WITH_CODE))
def test_the_code_of_a_page_runs_and_prints_what_is_shown(page, tmp_path, monkeypatch):
    """The blocks of a page are one script, and the page shows what they print."""
    monkeypatch.chdir(tmp_path)
    text = page.read_text(encoding="utf-8")
    try:
        blocks = run_blocks(text, page.name)
        assert len(blocks) == text.count("```python\n")
        assert sum(bool(block.shown) for block in blocks) == text.count("```text\n")
        assert [block.printed for block in blocks] == [block.shown for block in blocks]
    finally:
        if "matplotlib" in text:
            from matplotlib import pyplot as plt

            plt.close("all")


def test_pages_write_options_as_code():
    """Else two hyphens become a dash on the site, and nobody can copy the option."""
    pages = [
        *DOCS.glob("*.md"),
        *(DOCS / "guide").glob("*.md"),
        *(DOCS / "measured").rglob("*.md"),
        *DOCS.parent.glob("*.md"),
    ]
    assert len(pages) > 40
    plain = {}
    for page in pages:
        text = re.sub(
            r"^ *```.*?^ *```|<!--.*?-->|``.*?``|`[^`]*`",
            "",
            page.read_text(encoding="utf-8"),
            flags=re.DOTALL | re.MULTILINE,
        )
        if found := re.findall(r"(?<![\w-])--[a-z][\w-]*", text):
            plain[page.name] = found
    assert plain == {}


def test_formulas_name_tests_that_are_there():
    named = re.findall(
        r"^```\{tested\} (\S+) (\S+)$", "".join(page.read_text(encoding="utf-8") for page in PAGES), re.MULTILINE
    )
    assert len(named) > 25
    for path, name in named:
        tree = ast.parse((DOCS.parent / path).read_text(encoding="utf-8"))
        assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, f"{path} has no {name}"


def test_the_table_of_the_algorithms_is_that_of_the_registry():
    page = (DOCS / "guide" / "papers.md").read_text(encoding="utf-8")
    assert f"<!-- made by `make study NAME=algorithms` -->\n\n{algorithms.table()}\n\n<!-- end -->" in page


def test_every_algorithm_has_its_paragraph():
    text = (DOCS / "guide" / "papers.md").read_text(encoding="utf-8").partition("## All of them")[0]
    missing = [name for name, each in algorithms.ALGORITHMS.items() if each.maker == name and f"`{name}`" not in text]
    assert missing == []


def test_the_reference_has_every_public_name():
    listed = re.findall(r"^   ([A-Za-z_]\w*)$", (DOCS / "api.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert len(listed) == len(set(listed))
    assert set(listed) == set(aucmax.__all__) - {"__version__"}


def test_every_class_and_function_of_the_reference_has_an_example():
    drift = {"ColumnDrift", "Drift", "Period", "Stability"}
    results = {"AUCComparison", "AUCInterval", "Contributions", "PathCV"} | drift  # of functions with an example
    own = set(aucmax.__all__) - {"__version__", "ProgressBar"}  # that of scikit-learn, where it has one
    without = {name for name in own if "\nExamples\n----" not in inspect.getdoc(getattr(aucmax, name))}
    assert without == results


ESTIMATORS = [
    name
    for name in aucmax.__all__
    if inspect.isclass(getattr(aucmax, name)) and hasattr(getattr(aucmax, name), "get_params")
]


@pytest.mark.parametrize("name", ESTIMATORS)
def test_the_reference_has_every_attribute_of_a_fitted_estimator(name):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.standard_normal((60, 3)), columns=["a", "b", "c"])
    y = np.arange(60) % 3 == 0
    X["a"] += 2 * y
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # too few passes, too many landmarks
        fitted = getattr(aucmax, name)().fit(X, y)
    section = inspect.getdoc(type(fitted)).partition("\nAttributes\n---")[2].partition("\nSee Also\n---")[0]
    attributes = {each for each in dir(fitted) if each.endswith("_") and not each.startswith("_")}
    assert len(attributes) > 1
    assert attributes - set(re.findall(r"\b[a-z]\w*_\b", section)) == set()


@pytest.mark.parametrize("name", [name for name in aucmax.__all__ if inspect.isclass(getattr(aucmax, name))])
def test_attributes_and_parameters_are_described_where_they_are(name):
    """A reader of the reference is not sent to another class for what an attribute or a parameter is."""
    text = inspect.getdoc(getattr(aucmax, name)).partition("\nSee Also\n---")[0].partition("\nNotes\n---")[0]
    assert re.findall(r"^\s*as in\b.*|.* : as in .*|^\s*See :class:.*", text, re.MULTILINE | re.IGNORECASE) == []


# Links to the reference

KNOWN = {"aucmax.AUCClassifier", "aucmax.AUCClassifier.partial_fit", "aucmax.roc_auc_ci", "aucmax.OPAUC"}


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("AUCClassifier", "aucmax.AUCClassifier"),
        ("aucmax.roc_auc_ci", "aucmax.roc_auc_ci"),
        ("AUCClassifier.partial_fit", "aucmax.AUCClassifier.partial_fit"),
        ("OPAUC(rank=50)", "aucmax.OPAUC"),
        ("AUCClassifier()", "aucmax.AUCClassifier"),
        ("partial_fit", None),
        ("fit(X, y, groups=...)", None),
        ("make_pipeline(OPAUC())", None),
        ("AUCClassifier().fit(X, y)", None),
        ("aucmax fit", None),
        ('"OPAUC"', None),
    ],
)
def test_names_and_calls_are_found_in_the_reference(code, name):
    assert find_name(code, KNOWN) == name


def test_names_become_links_but_not_in_headings_links_and_blocks():
    nodes = pytest.importorskip("docutils.nodes")
    pytest.importorskip("sphinx")
    from types import SimpleNamespace

    objects = {"aucmax.OPAUC": SimpleNamespace(docname="generated/aucmax.OPAUC", node_id="aucmax.OPAUC")}
    domains = SimpleNamespace(python_domain=SimpleNamespace(objects=objects))
    builder = SimpleNamespace(get_relative_uri=lambda start, end: f"../{end}.html")
    app = SimpleNamespace(env=SimpleNamespace(domains=domains), builder=builder)
    name, other = nodes.literal("", "OPAUC"), nodes.literal("", "OAM")
    linked = nodes.reference("", "", name.deepcopy(), refuri="x")
    heading = nodes.title("", "", name.deepcopy())
    page = nodes.section("", heading, nodes.paragraph("", "", name, other, linked), nodes.literal_block("", "OPAUC"))
    add_links(app, page, "guide/papers")
    addresses = [each["refuri"] for each in page.findall(nodes.reference)]
    assert addresses == ["../generated/aucmax.OPAUC.html#aucmax.OPAUC", "x"]
    assert page.astext().split() == ["OPAUC", "OPAUCOAMOPAUC", "OPAUC"]


# The flow chart


def test_page_which_has_the_flow_chart_of_the_list():
    page = (DOCS / "which.md").read_text(encoding="utf-8")
    assert f"<!-- made by `make study NAME=which` -->\n\n{which_one.block()}\n\n<!-- end -->" in page


@pytest.mark.parametrize("choice", which_one.CHOICES, ids=lambda choice: choice.answer)
def test_a_choice_names_parameters_that_are_there(choice):
    """They are parameters of what the answer calls, or of its method `fit`."""
    called = [getattr(aucmax, name) for name in re.findall(r"\b([A-Za-z_]+)\(", choice.answer) if name in dir(aucmax)]
    called += [each.fit for each in called if hasattr(each, "fit")]
    known = {name for each in called for name in inspect.signature(each).parameters}
    assert len(choice.parameters) == 3
    assert {name for name, _ in choice.parameters} <= known
    assert (DOCS / f"{choice.page}.md").exists()


# The checker of links


def write_site(folder, **pages):
    for name, text in pages.items():
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    return [(problem.file, problem.address, problem.reason) for problem in check_site(folder)]


def test_check_links_of_a_site_without_problems(tmp_path):
    (tmp_path / "style.css").write_text("a { background: url(data:image/png;base64,AA==) }", encoding="utf-8")
    one = '<link rel="stylesheet" href="style.css?v=1"><h1 id="top">x</h1><a href="two.html#caf%C3%A9">y</a>'
    two = '<p id="café"><a href="#café">z</a><a href="one.html">one</a><a href="https://example.org/">out</a></p>'
    assert write_site(tmp_path, one=one, two=two) == []


def test_check_links_finds_broken_links(tmp_path):
    page = '<a href="none.html">a</a><a href="#none">b</a><a href="page.html#none">c</a>'
    assert write_site(tmp_path, page=page) == [
        ("page.html", "none.html", "there is no such file"),
        ("page.html", "#none", "the page has no such anchor"),
        ("page.html", "page.html#none", "the page has no such anchor"),
    ]


@pytest.mark.parametrize(
    "loaded",
    [
        '<script src="https://cdn.example.org/x.js"></script>',
        '<link href="//fonts.example.org/x.css">',
        '<img src="http://example.org/x.png">',
    ],
)
def test_check_links_refuses_what_is_loaded_from_outside(tmp_path, loaded):
    ((_, _, reason),) = write_site(tmp_path, page=loaded)
    assert reason == "it is outside of the site"


def test_check_links_reads_style_sheets(tmp_path):
    (tmp_path / "style.css").write_text(
        '@import "https://example.org/a.css"; b { src: url(font.woff2) }', encoding="utf-8"
    )
    assert write_site(tmp_path) == [
        ("style.css", "https://example.org/a.css", "it is outside of the site"),
        ("style.css", "font.woff2", "there is no such file"),
    ]
