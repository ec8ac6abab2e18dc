"""The directive `tested`: a formula's test, folded in, so that the page cannot claim a test that is not there.

```{tested} tests/test_metrics.py test_roc_auc_is_the_definition
```
"""

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

LINES = """:::{{dropdown}} Checked by a test
:icon: check

```{{literalinclude}} /../{path}
:caption: {path}
:pyobject: {name}
:language: python
```
:::"""


class Tested(SphinxDirective):
    """Show a test function of the repository."""

    required_arguments = 2

    def run(self) -> list:
        """Return the folded source of the test."""
        path, name = self.arguments
        lines = StringList(LINES.format(path=path, name=name).splitlines(), source=self.env.docname)
        holder = nodes.Element()
        self.state.nested_parse(lines, self.content_offset, holder)
        return holder.children


def setup(app) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("tested", Tested)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
