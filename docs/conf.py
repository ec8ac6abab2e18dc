"""How Sphinx builds the site; `make docs` runs it."""

import re
import sys
from pathlib import Path

import matplotlib
from docutils import nodes
from sphinx_gallery.directives import imgsgnode

import aucmax

sys.path.insert(0, str(Path(__file__).parent / "_ext"))
matplotlib.use("agg")

project = "aucmax"
author = "The aucmax developers"
copyright = author
version = release = aucmax.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "numpydoc",
    "myst_parser",
    "sphinx_design",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "mathml",
    "names",
    "tested",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "auto_examples/**/*.ipynb", "auto_examples/*.py", "auto_examples/**/*.zip"]
default_role = "py:obj"
smartquotes_action = "qe"  # quotes and ellipses; two hyphens begin an option and are no dash
suppress_warnings = ["config.cache"]  # the classes of sphinx-gallery's configuration cannot be pickled

# Markdown

myst_enable_extensions = ["dollarmath", "colon_fence", "deflist", "attrs_inline"]
myst_heading_anchors = 4
html_math_renderer = "mathml"

# The reference

autosummary_generate = True
autodoc_typehints = "none"
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
numpydoc_validation_checks = {
    "all",  # except for
    "ES01",  # a second paragraph everywhere: one sentence is enough for most methods
    "EX01",  # an example in every method: a test asks for one in every class and function
    "SA01",  # references in every method
    "RT02",  # no names for what is returned: scikit-learn has them
}
# The fields of named tuples are attributes, not parameters.
NAMED_TUPLES = (
    "AUCInterval|AUCComparison|PathCV|Comparison|Contributions|Evaluation|GroupEvaluation|Confusion|RocCurve|Estimate|"
    "Tenth|Calibration|CalibrationBin|Report|Drift|ColumnDrift|Stability|Period"
)
numpydoc_validation_exclude = {rf"\.({NAMED_TUPLES})$"}

# The gallery

sphinx_gallery_conf = {
    "examples_dirs": ["../examples"],
    "gallery_dirs": ["auto_examples"],
    "filename_pattern": r"/plot_",
    "doc_module": ("aucmax",),
    "backreferences_dir": "generated/backreferences",
    "reference_url": {"aucmax": None},
    "subsection_order": [f"../examples/{name}" for name in ("fitting", "judging", "tables", "papers")],
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "parallel": True,
    "capture_repr": ("_repr_html_",),  # not where in memory the last object of a block is
    "show_memory": False,
    "show_signature": False,
    "remove_config_comments": True,
    "plot_gallery": "True",
    "write_computation_times": False,
}

# The pages

html_theme = "pydata_sphinx_theme"
html_title = "aucmax"
html_favicon = "_static/favicon.svg"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "navigation_with_keys": False,
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "navbar_persistent": ["search-button"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": [], "which": [], "start": []}


def adapt_markdown(app, page: str, source: list[str]) -> None:
    """Translate what pages have for GitHub: links out of this folder, and anchors in HTML."""
    for name in ("CONTRIBUTING", "CHANGELOG"):
        source[0] = source[0].replace(f"](../{name}.md", f"]({name.lower()}.md")
    source[0] = re.sub(r'^<a id="([\w-]+)"></a>$', r"(\1)=", source[0], flags=re.MULTILINE)


def adapt_docstring(app, what, name, thing, options, lines: list[str]) -> None:
    """Leave the text of references into scikit-learn's own pages, and link the pages of this site."""
    for k, line in enumerate(lines):
        line = re.sub(r":(?:ref|term):`([^<`]+?)(?: *<[^>]*>)?`", r"\1", line)
        lines[k] = re.sub(r"(?:``)?\bdocs/([\w/-]+)\.md(?:``)?", r":doc:`/\1`", line)


def skip_tuple_members(app, what, name, member, skip: bool, options) -> bool | None:
    """Leave out the fields of named tuples, which their docstrings list, and the methods of all tuples."""
    of_tuples = getattr(member, "__objclass__", None) is tuple
    return True if of_tuples or type(member).__name__ == "_tuplegetter" else None


def wrap_pictures(app, doctree) -> None:
    """Put each picture of the gallery into a box, in which it can scroll on a phone."""
    for picture in list(doctree.findall(imgsgnode)):
        picture.replace_self(nodes.container("", picture.deepcopy(), classes=["wide"]))


def setup(app) -> None:
    """Connect what this file adds to Sphinx."""
    app.connect("autodoc-skip-member", skip_tuple_members)
    app.connect("autodoc-process-docstring", adapt_docstring)
    app.connect("source-read", adapt_markdown)
    app.connect("doctree-read", wrap_pictures)
