"""Exported documents, and what of a declaration their format cannot express."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from keyfold.model import Table


@dataclass(frozen=True, slots=True)
class ExportGap:
    """A part of a declaration that a format cannot express, and what to do about it."""

    subject: str
    fact: str
    advice: str = ""

    def __str__(self) -> str:
        return " ".join(filter(None, (f"{self.subject}: {self.fact}.", self.advice)))


@dataclass(frozen=True, slots=True)
class ExportedDocument:
    """A declaration in another format: JSON, or the text of a source file."""

    content: dict[str, Any] | str
    gaps: tuple[ExportGap, ...] = ()

    def to_text(self) -> str:
        """Return the document as the text of a file, which ends with a line break."""
        if isinstance(self.content, str):
            return self.content
        return json.dumps(self.content, indent=2, ensure_ascii=False) + "\n"


def find_unique_gaps(tables: Iterable[Table]) -> Iterator[ExportGap]:
    """Yield a gap for each table whose unique fields need an item that a deployment cannot write."""
    for table in tables:
        if table.has_guards:
            yield ExportGap(
                table.name,
                "it has unique fields, and a deployment writes no items, so not the one that "
                "records their guards as complete",
                "Run keyfold apply once the table exists.",
            )
