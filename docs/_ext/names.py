"""Names of the reference become links to it, wherever a page has them as code: `AUCClassifier`, `OPAUC(rank=50)`.

Pages stay plain Markdown. Other code stays as it is, and so do headings, links and blocks of code.
"""

import re

NAME = re.compile(r"(?:aucmax\.)?([A-Za-z_][\w.]*)(?:\([^()]*\))?")  # alone, or in one call


def find_name(code: str, known) -> str | None:
    """Return the full name of what this code names or calls, if the reference has it."""
    match = NAME.fullmatch(code)
    name = f"aucmax.{match[1]}" if match else None
    return name if name in known else None


def add_links(app, doctree, page: str) -> None:
    """Link the names in a page; those of the reference itself are links by the default role."""
    from docutils import nodes
    from sphinx.util.nodes import make_refnode

    if page.startswith("generated/"):
        return
    known = app.env.domains.python_domain.objects
    for code in list(doctree.findall(nodes.literal)):
        name = find_name(code.astext(), known)
        if name and not is_within(code, (nodes.title, nodes.reference)):
            found = known[name]
            label = code.deepcopy()
            label["classes"] += ["xref", "py"]
            code.replace_self(make_refnode(app.builder, page, found.docname, found.node_id, label, name))


def is_within(node, kinds: tuple[type, ...]) -> bool:
    """Return whether a node of one of these kinds holds this one."""
    while node is not None:
        if isinstance(node, kinds):
            return True
        node = node.parent
    return False


def setup(app) -> dict[str, bool]:
    """Add the links once all pages are read, when the whole reference is known."""
    app.connect("doctree-resolved", add_links)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
