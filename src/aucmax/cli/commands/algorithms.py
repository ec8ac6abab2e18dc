"""``aucmax algorithms``: what can be fitted and compared."""

from ...compare.methods import describe_methods
from ...papers.registry import short_paper
from ..console import Console, make_table
from ..options import Debug, Json


def algorithms(as_json: Json = False, debug: Debug = False) -> None:
    """List what can be fitted and compared."""
    rows = describe_methods()
    authors = ["" if row.paper is None else short_paper(row.paper) for row in rows]
    table = make_table(
        "",
        ("name", "optimises", "stream", "tuned by compare", "what it is", "paper"),
        [
            (r.method, r.family, "yes" if r.online else "", r.grid, r.summary, paper)
            for r, paper in zip(rows, authors, strict=True)
        ],
    )
    Console(as_json=as_json).result({"methods": [row._asdict() for row in rows]}, table)
