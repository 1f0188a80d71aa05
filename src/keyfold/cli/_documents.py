"""The files of a design document: the document itself, and its pictures."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from keyfold.cli._choices import DocumentFormat
from keyfold.cli._output_files import report_unwritable
from keyfold.export.documents import DesignDocument, write_html, write_markdown

_HTML = (".html", ".htm")


@dataclass(frozen=True, slots=True)
class DocumentFile:
    """A file that belongs to a document, and the text that it should have."""

    path: Path
    text: str


def choose_format(given: DocumentFormat | None, file: Path | None) -> DocumentFormat:
    """Return the format that is given, or that of a file by its name."""
    if given is not None:
        return given
    is_html = file is not None and file.suffix.lower() in _HTML
    return DocumentFormat.HTML if is_html else DocumentFormat.MARKDOWN


def write_text(
    document: DesignDocument, form: DocumentFormat, file: Path | None, folder: Path | None
) -> str:
    """Return a document as text; links to pictures in `folder` are relative to the file's folder."""
    if form is DocumentFormat.HTML:
        return write_html(document)
    if folder is None:
        return write_markdown(document)
    start = Path.cwd() if file is None else file.parent
    links = {
        each.file: Path(os.path.relpath(folder / each.file, start)).as_posix()
        for each in document.pictures
    }
    return write_markdown(document, pictures=links)


def list_pictures(document: DesignDocument, folder: Path) -> list[DocumentFile]:
    """Return the files of a document's pictures."""
    return [DocumentFile(folder / each.file, each.svg) for each in document.pictures]


def save(files: Sequence[DocumentFile]) -> None:
    """Write files; raises BadParameter if that is not possible."""
    for file in files:
        with report_unwritable(file.path):
            file.path.parent.mkdir(parents=True, exist_ok=True)
            file.path.write_text(file.text, "utf-8")


def find_stale(files: Sequence[DocumentFile]) -> Iterator[str]:
    """Yield a sentence about each file that does not have the text that it should have."""
    for file in files:
        try:
            found = file.path.read_text("utf-8")
        except FileNotFoundError:
            yield f"{file.path} does not exist"
            continue
        except (OSError, ValueError) as error:
            yield f"{file.path} cannot be read: {error}"
            continue
        if found != file.text:
            yield f"{file.path}:{_find_difference(found, file.text)} is stale"


def _find_difference(one: str, other: str) -> int:
    """Return the number of the first line in which two texts differ."""
    lines = zip(one.splitlines(), other.splitlines(), strict=False)
    same = next((place for place, (left, right) in enumerate(lines) if left != right), None)
    shorter = min(len(one.splitlines()), len(other.splitlines()))
    return 1 + (shorter if same is None else same)
