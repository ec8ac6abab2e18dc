"""``aucmax inspect``: what a model file holds."""

from typing import Annotated, Any

import typer

from ..byte_sizes import format_bytes
from ..console import Console, make_table
from ..display import describe_model, largest_weights, list_entries, show_blend
from ..options import Debug, Json, ModelPath


def inspect(
    model: ModelPath,
    top: Annotated[int, typer.Option(min=0, help="How many weights to show.")] = 20,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Show what a model file holds."""
    from ..model_notes import read_model_file

    file, size = read_model_file(model), model.stat().st_size
    weights = largest_weights(file, top)
    about = describe_model(file)
    values = about | {"size": size, "weights": weights and dict(weights)}
    parameters = ", ".join(f"{name}={value!r}" for name, value in file.model.get_params(deep=False).items())
    entries = [("file", f"{model}, {format_bytes(size)}"), *list_entries(file), ("parameters", parameters)]
    width = 2 + max(len(name) for name, _ in entries)
    shown: list[Any] = [f"{name:<{width}}{text}" for name, text in entries]
    shown += show_blend(about)
    if weights:
        what = "weight" if file.notes.get("spreads") is None else "weight times standard deviation"
        shown.append(make_table("", ("column", what), [(name, f"{w:.6g}") for name, w in weights], right=(1,)))
    Console(as_json=as_json).result(values, *shown)
