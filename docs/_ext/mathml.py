"""Formulas as MathML, which browsers draw themselves: no script, no font and no request."""

import re
from html import escape

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging

# Bars would grow to the height of the formula, and those of a norm would stand apart from it.
BARS = re.compile(r"<mo([^>]*>[|\u2016\u2223\u2225])")
NORMS = re.compile(r"<mo([^>]*>[|\u2016])")


def translate(node: nodes.Element, as_block: bool) -> str:
    """Return a formula as MathML; one that cannot be read is a warning, which names its place."""
    try:
        formula = BARS.sub(r'<mo stretchy="false"\1', tex2mathml(node.astext(), as_block=as_block))
        return NORMS.sub(r'<mo lspace="0" rspace="0"\1', formula)
    except MathError as error:
        logging.getLogger(__name__).warning("%s in the formula %s", error, node.astext(), location=node)
        return escape(node.astext())


def visit_inline(self, node: nodes.math) -> None:
    """Write a formula in a line of text."""
    self.body.append(translate(node, as_block=False))
    raise nodes.SkipNode


def visit_display(self, node: nodes.math_block) -> None:
    """Write a formula in a line of its own."""
    self.body.append(f'<div class="formula">{translate(node, as_block=True)}</div>')
    raise nodes.SkipNode


def setup(app) -> dict[str, bool]:
    """Register the renderer under the name that `html_math_renderer` takes."""
    app.add_html_math_renderer("mathml", inline_renderers=(visit_inline, None), block_renderers=(visit_display, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
