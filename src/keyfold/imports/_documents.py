"""JSON documents to import: reading them, and errors that name the place in them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, cast

from keyfold.errors import SourceUnreadable

T = TypeVar("T")
_NAMES: dict[type[Any], str] = {str: "text", list: "a list", dict: "an object"}


@dataclass(frozen=True, slots=True)
class DocumentNode:
    """An object of a document, with the file and the path to it for errors."""

    content: Mapping[str, Any]
    file: str
    path: str

    def __contains__(self, name: str) -> bool:
        return self.content.get(name) is not None

    def get(self, name: str, kind: type[T]) -> T | None:
        """Return a member; None if it is missing. Raises SourceUnreadable for another type."""
        value = self.content.get(name)
        if value is not None and not isinstance(value, kind):
            shown = json.dumps(value)[:60]
            raise self.error(f"{name} must be {_NAMES[kind]}, not {shown}")
        return value

    def need(self, name: str, kind: type[T]) -> T:
        """Return a member; raises SourceUnreadable if it is missing."""
        value = self.get(name, kind)
        if value is None:
            raise self.error(f"it has no {name}")
        return value

    def node(self, name: str) -> DocumentNode:
        """Return a member that is an object; an empty one if it is missing."""
        found: dict[str, Any] = self.get(name, cast("type[dict[str, Any]]", dict)) or {}
        return DocumentNode(found, self.file, f"{self.path}.{name}".lstrip("."))

    def nodes(self, name: str) -> Iterator[DocumentNode]:
        """Yield the objects of a list; nothing if it is missing."""
        found: list[Any] = self.get(name, cast("type[list[Any]]", list)) or []
        for number, each in enumerate(found):
            path = f"{self.path}.{name}[{number}]".lstrip(".")
            if not isinstance(each, dict):
                raise DocumentNode({}, self.file, path).error("it must be an object")
            yield DocumentNode(cast("dict[str, Any]", each), self.file, path)

    def texts(self, name: str) -> list[str]:
        """Return the texts of a list; an empty one if it is missing."""
        found: list[Any] = self.get(name, cast("type[list[Any]]", list)) or []
        if not all(isinstance(each, str) for each in found):
            raise self.error(f"{name} must be a list of texts")
        return found

    def error(self, fact: str, advice: str = "") -> SourceUnreadable:
        """Return an error about this object."""
        return SourceUnreadable(self.file, f"{self.path or 'the document'}: {fact}", advice)


def read_document(file: Path) -> DocumentNode:
    """Return the object of a JSON file; raises SourceUnreadable."""
    try:
        content: Any = json.loads(file.read_text("utf-8"))
    except OSError as error:
        raise SourceUnreadable(str(file), f"it cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise SourceUnreadable(str(file), f"it is not JSON: {error}") from None
    if not isinstance(content, dict):
        raise SourceUnreadable(str(file), "it is JSON, but not an object")
    return DocumentNode(cast("dict[str, Any]", content), str(file), "")
