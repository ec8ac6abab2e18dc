"""The flow chart and the table of the page "Which one?", made from one list.

python docs/which_one.py --write docs/which.md

The chart is SVG in the colours of the page, so that it can be read on light and dark pages; its boxes are links.
"""

import argparse
import re
from html import escape
from pathlib import Path
from typing import NamedTuple

COMMAND = "make which"
WIDTH, LEFT, RIGHT = 860, 330, 440  # of the chart, of a question and of an answer
BOX, GAP = 62, 26  # heights


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
        "a stream: rows are gone once seen",
        "AUCClassifier().partial_fit",
        "guide/places",
        (
            ("alpha", "None takes it from the moments"),
            ("penalty", "or n_nonzero"),
            ("loss", '"pooled" if positives are few'),
        ),
    ),
    Choice(
        "a file larger than memory",
        "AUCClassifier().fit_rows(open_rows(file))",
        "guide/places",
        (
            ("memory", "of open_rows"),
            ("checkpoint", "of open_rows, to resume"),
            ("loss", '"squared" takes the fewest passes'),
        ),
    ),
    Choice(
        "a cluster, or rows on a GPU",
        "AUCClassifier().fit(dask or cuda X, y)",
        "where",
        (
            ("loss", '"squared" takes the fewest passes'),
            ("alpha", "given, it saves cross-validation"),
            ("cv", "the number of folds"),
        ),
    ),
    Choice(
        "a scorecard to defend",
        "Scorecard(AdditiveAUCClassifier().fit(X, y))",
        "guide/tables",
        (
            ("monotonic_cst", "shapes that must hold"),
            ("max_bins", "few for a short card"),
            ("points_to_double", "of the scorecard"),
        ),
    ),
    Choice(
        "curves to read, or linear is not enough",
        "AdditiveAUCClassifier()",
        "guide/tables",
        (
            ("pairs", '"auto" for surfaces of two columns'),
            ("monotonic_cst", "rising or falling"),
            ("categorical_features", "which columns are levels"),
        ),
    ),
    Choice(
        "a table with text, dates and gaps",
        "make_pipeline(TableEncoder(), AUCClassifier())",
        "guide/tables",
        (
            ("categorical", "columns to read as levels"),
            ("na_values", "further spellings of gaps"),
            ("drop", "columns to leave out"),
        ),
    ),
    Choice(
        "classes that no line parts, few columns",
        "make_pipeline(KMeansNystroem(), AUCClassifier())",
        "guide/kernels",
        (("n_components", "the landmarks"), ("gamma", "the width: cross-validate it"), ("random_state", "of k-means")),
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
            ("groups", "of fit: rows that belong together"),
            ("sample_weight", "of fit"),
            ("standardize", "False if columns have one unit"),
        ),
    ),
)


def chart() -> str:
    """Return the flow chart as SVG."""
    height = len(CHOICES) * (BOX + GAP) + 40
    parts = [
        f'<svg class="flow" viewBox="0 0 {WIDTH} {height}" role="img" aria-labelledby="flow-title">',
        '<title id="flow-title">From what you have to the estimator to use</title>',
        text(LEFT / 2 + 5, 18, "Do you have ...", "head"),
    ]
    for k, choice in enumerate(CHOICES):
        top = 30 + k * (BOX + GAP)
        middle = top + BOX / 2
        if choice.question:
            parts += [
                f'<rect class="question" x="5" y="{top}" width="{LEFT}" height="{BOX}" rx="10"/>',
                text(5 + LEFT / 2, middle + 5, f"{choice.question}?", "ask"),
                f'<path class="arrow" d="M{LEFT + 5} {middle} H{WIDTH - RIGHT - 12}"/>',
                text((LEFT + WIDTH - RIGHT) / 2, middle - 6, "yes", "word"),
                f'<path class="arrow" d="M{5 + LEFT / 2} {top + BOX} V{top + BOX + GAP - 2}"/>',
                text(5 + LEFT / 2 + 18, top + BOX + GAP / 2 + 4, "no", "word"),
            ]
        else:
            parts += [
                f'<path class="arrow" d="M{5 + LEFT / 2} {top - 2} V{middle} H{WIDTH - RIGHT - 12}"/>',
                text(
                    (LEFT + WIDTH - RIGHT) / 2 - 60,
                    middle - 6,
                    "anything else: ten positives, a million columns",
                    "word",
                ),
            ]
        parts += answer_box(choice, top)
    return "\n".join([*parts, "</svg>"])


def answer_box(choice: Choice, top: int) -> list[str]:
    """Return the box of an answer, a link to its chapter, with its parameters."""
    x = WIDTH - RIGHT
    names = ", ".join(name for name, _ in choice.parameters)
    return [
        f'<a href="{choice.page}.html">',
        f'<rect class="answer" x="{x}" y="{top}" width="{RIGHT - 5}" height="{BOX}" rx="10"/>',
        text(x + RIGHT / 2, top + 26, choice.answer, "code"),
        text(x + RIGHT / 2, top + 47, names, "small"),
        "</a>",
    ]


def text(x: float, y: float, words: str, look: str) -> str:
    """Return centred text."""
    return f'<text class="{look}" x="{x:g}" y="{y:g}" text-anchor="middle">{escape(words)}</text>'


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
    return f'```{{raw}} html\n<div class="flow-frame">\n{chart()}\n</div>\n```\n\n{table()}'


def main() -> None:
    """Print the block, or write it into a page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", type=Path, help="put the chart and the table between the marks of this page")
    arguments = parser.parse_args()
    if arguments.write is None:
        print(block())
        return
    page = arguments.write.read_text()
    marks = re.compile(rf"(<!-- made by `{COMMAND}` -->\n\n).*?(\n\n<!-- end -->)", re.DOTALL)
    arguments.write.write_text(marks.sub(lambda found: found[1] + block() + found[2], page))


if __name__ == "__main__":
    main()
