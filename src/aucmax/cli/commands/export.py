"""``aucmax export``: a model for other runtimes."""

from pathlib import Path
from typing import Annotated

import typer

from ..console import Console
from ..options import Debug, Force, ModelPath, Quiet
from ..outputs import check_outputs


def export(
    model: ModelPath,
    onnx: Annotated[Path, typer.Option(help="The ONNX file to write.")],
    force: Force = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Write a model in another format."""
    check_outputs({"--onnx": onnx}, force, [model])
    from ...onnx_export import export_onnx
    from ..model_notes import read_model_file

    export_onnx(read_model_file(model).model, onnx)
    Console(quiet).note(f"wrote {onnx}")
