"""The files that commands write."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from keyfold.errors import KeyfoldError

OutputFile = Annotated[
    Path | None, typer.Option("--output", help="Write it to this file.", metavar="FILE")
]


def write_output(file: Path, text: str, option: str = "--output") -> None:
    """Write a file that an option names; raises BadParameter if that is not possible."""
    with report_unwritable(file, option):
        file.write_text(text, "utf-8")


@contextmanager
def report_unwritable(path: Path, option: str | None = None) -> Generator[None]:
    """Raise BadParameter, with the option that names the path, if it cannot be written."""
    try:
        yield
    except KeyfoldError:
        raise
    except OSError as error:
        fact = f"{path} cannot be written: {error.strerror or error}."
        raise typer.BadParameter(fact, param_hint=option) from None
