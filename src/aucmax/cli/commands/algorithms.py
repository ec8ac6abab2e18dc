"""``aucmax algorithms``: what can be fitted and compared."""

from ..console import Console, make_table
from ..options import Debug, Json


def algorithms(as_json: Json = False, debug: Debug = False) -> None:
    """List what can be fitted and compared."""
    from ...compare.methods import describe_methods

    rows = describe_methods()
    table = make_table(
        "",
        ("name", "optimises", "stream", "tuned by compare", "what it is", "paper"),
        [(r.name, r.family, "yes" if r.online else "", r.grid, r.summary, r.paper.partition("),")[0]) for r in rows],
    )
    Console(as_json=as_json).result({"methods": [row._asdict() for row in rows]}, table)
