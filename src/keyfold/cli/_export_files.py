"""The files that `keyfold export` writes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

ExportFile = Annotated[
    Path | None, typer.Option("--output", help="Write it to this file.", metavar="FILE")
]


def write_export(output: Path, text: str) -> None:
    """Write an exported document to a file; raises BadParameter if that is not possible."""
    try:
        output.write_text(text, "utf-8")
    except OSError as error:
        fact = f"{output} cannot be written: {error.strerror}."
        raise typer.BadParameter(fact, param_hint="--output") from None
