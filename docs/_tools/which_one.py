"""The flow chart and the table of the page "Which one?", made from one list.

python docs/_tools/which_one.py --write docs/which.md

The chart is a list that `_static/site.css` draws in the colours of the page, light or dark, and below each other on a
phone. Its boxes are links.
"""

import argparse
import re
from html import escape
from pathlib import Path
from typing import NamedTuple

COMMAND = "make study NAME=which"


class Choice(NamedTuple):
    """What a reader may have, and what to use then.

    Attributes
    ----------
    question : str
        What the reader has; "" for the end of the chart.
    answer : str
        The code to use.
    page : str
        The chapter that explains it, a path in this folder without its suffix.
    parameters : sequence of (str, str)
        The three most important parameters, and what each is for.
    """

    question: str
    answer: str
    page: str
    parameters: tuple[tuple[str, str], ...]


CHOICES = (
    Choice(
        "a scorecard to defend",
        "Scorecard(TableClassifier().fit(X, y))",
        "guide/scorecards",
        (
            ("max_lines", "how short the card is"),
            ("monotonic_cst", "shapes that must hold"),
            ("points_to_double", "of the scorecard"),
        ),
    ),
    Choice(
        "a table with text, dates or gaps, in memory or on a cluster",
        "TableClassifier()",
        "guide/tables",
        (
            ("terms", "by default, the ladder chooses"),
            ("monotonic_cst", "rising or falling"),
            ("categorical", "columns to read as levels"),
        ),
    ),
    Choice(
        "such a table in CSV or Parquet files",
        "TableClassifier().fit_rows(open_rows(file, target=...))",
        "guide/tables",
        (
            ("memory", "of open_rows"),
            ("checkpoint", "of open_rows, to resume"),
            ("pairs", "the number of surfaces"),
        ),
    ),
    Choice(
        "up to 256 columns of numbers, and curves to read",
        "TableClassifier()",
        "guide/tables",
        (
            ("terms", "by default, the ladder chooses"),
            ("pairs", "surfaces of two columns"),
            ("max_bins", "how fine curves are"),
        ),
    ),
    Choice(
        "a stream: rows are gone once seen",
        "AUCClassifier().partial_fit",
        "guide/places",
        (
            ("alpha", "by default from the class moments"),
            ("penalty", "or n_nonzero"),
            ("loss", '"pooled" if positives are few'),
        ),
    ),
    Choice(
        "a file of numbers larger than memory",
        "AUCClassifier().fit_rows(open_rows(file, target=...))",
        "guide/places",
        (
            ("memory", "of open_rows"),
            ("checkpoint", "of open_rows, to resume"),
            ("loss", '"squared" takes the fewest passes'),
        ),
    ),
    Choice(
        "numbers on a cluster or on a GPU",
        "AUCClassifier().fit(dask or cuda X, y)",
        "where",
        (
            ("loss", '"squared" takes the fewest passes'),
            ("alpha", "given, it saves cross-validation"),
            ("cv", "the number of folds"),
        ),
    ),
    Choice(
        "classes that no straight line separates, few columns",
        "make_pipeline(KMeansNystroem(), AUCClassifier())",
        "guide/kernels",
        (("n_components", "the landmarks"), ("gamma", "the width, to cross-validate"), ("random_state", "of k-means")),
    ),
    Choice(
        "too many columns to look at",
        "AUCClassifier(n_nonzero=[5, 10, 20])",
        "guide/sparsity",
        (("n_nonzero", "how many weights"), ("penalty", '"l1" lets the data decide'), ("alphas", "to choose from")),
    ),
    Choice(
        "a paper to compare with",
        "OPAUC(), SOLAM(), SHTAUC(), PSAM(), ...",
        "guide/papers",
        (
            ("variant", '"paper" for its own steps'),
            ("max_iter", "passes over the rows"),
            ("random_state", "of the order of rows"),
        ),
    ),
    Choice(
        "",
        "AUCClassifier()",
        "guide/blends",
        (
            ("groups", "of fit, for rows that belong together"),
            ("sample_weight", "of fit"),
            ("standardize", "False if columns have one unit"),
        ),
    ),
)


def chart() -> str:
    """Return the flow chart as a list: a question, the way of a yes, an answer, the way of a no."""
    lines = ['<ol class="flow" aria-label="From what you have to the estimator to use">']
    for choice in CHOICES:
        asked = f"{choice.question}?" if choice.question else "none of these"
        names = ", ".join(name for name, _ in choice.parameters)
        yes = "yes " if choice.question else ""
        lines += [
            f'<li><span class="question">{escape(asked)}</span><span class="yes">{yes}<span>→</span></span>',
            f'<a class="answer" href="{choice.page}.html"><b>{escape(choice.answer)}</b><small>{names}</small></a>',
            '<span class="no">no ↓</span></li>' if choice.question else "</li>",
        ]
    return "\n".join([*lines, "</ol>"])


def table() -> str:
    """Return the same as a table."""
    rows = ["| you have | use | its three most important parameters |", "|---|---|---|"]
    for choice in CHOICES:
        named = "; ".join(f"`{name}`: {use}" for name, use in choice.parameters)
        have = choice.question or "anything else"
        rows.append(f"| {have} | [`{choice.answer}`]({choice.page}.md) | {named} |")
    return "\n".join(rows)


def block() -> str:
    """Return what stands between the marks of the page."""
    return f"```{{raw}} html\n{chart()}\n```\n\n{table()}"


def main() -> None:
    """Print the block, or write it into a page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", type=Path, help="put the chart and the table between the marks of this page")
    arguments = parser.parse_args()
    if arguments.write is None:
        print(block())
        return
    page = arguments.write.read_text(encoding="utf-8")
    marks = re.compile(rf"(<!-- made by `{COMMAND}` -->\n\n).*?(\n\n<!-- end -->)", re.DOTALL)
    arguments.write.write_text(marks.sub(lambda found: found[1] + block() + found[2], page), encoding="utf-8")


if __name__ == "__main__":
    main()
