"""The tree of a document: sections of paragraphs, lists, tables, code and pictures.

The tree says what a document has, and not how it looks: printers write it as Markdown, HTML or JSON.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Code:
    """A name or a value inside a text, which is set in a fixed-width font."""

    text: str


# A text with names and values in it.
Prose = tuple[str | Code, ...]


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph of text."""

    text: Prose


@dataclass(frozen=True, slots=True)
class BulletList:
    """A list of short texts."""

    items: tuple[Prose, ...]


@dataclass(frozen=True, slots=True)
class Grid:
    """A table: the names of its columns, and its rows. Columns in `numeric` are aligned right."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Prose, ...], ...]
    numeric: frozenset[str] = frozenset()

    def without_empty_columns(self) -> Grid:
        """Return the table without the columns that no row has anything in."""
        kept = [place for place, _ in enumerate(self.columns) if any(r[place] for r in self.rows)]
        return Grid(
            tuple(self.columns[place] for place in kept),
            tuple(tuple(row[place] for place in kept) for row in self.rows),
            self.numeric,
        )


@dataclass(frozen=True, slots=True)
class EntityDiagram:
    """A diagram of entities: its Mermaid source, and its relations in words.

    A page without scripts shows the words.
    """

    mermaid: str
    relations: tuple[Prose, ...]


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture: the name of its file, what it shows, its SVG, and the same as a table."""

    file: str
    title: str
    svg: str
    grid: Grid


Block = Paragraph | BulletList | Grid | EntityDiagram | Picture


@dataclass(frozen=True, slots=True)
class DocumentSection:
    """A section with a heading; its subsections follow its blocks."""

    title: str
    blocks: tuple[Block, ...]
    sections: tuple[DocumentSection, ...] = ()


@dataclass(frozen=True, slots=True)
class DesignDocument:
    """The design document of a table."""

    table: str
    introduction: Prose
    sections: tuple[DocumentSection, ...]

    @property
    def pictures(self) -> tuple[Picture, ...]:
        """The pictures of all sections, in their order."""
        return tuple(
            block
            for section in _walk(self.sections)
            for block in section.blocks
            if isinstance(block, Picture)
        )

    def to_json(self) -> dict[str, Any]:
        """Return the document as a JSON object: each table is a list of objects, by column."""
        return {
            "table": self.table,
            "introduction": to_plain(self.introduction),
            "sections": [_section_to_json(each) for each in self.sections],
        }


def _walk(sections: Iterable[DocumentSection]) -> Iterator[DocumentSection]:
    for each in sections:
        yield each
        yield from _walk(each.sections)


def to_plain(text: Prose) -> str:
    """Return a text without the marks of its names and values.

    >>> to_plain(("Key: ", Code("pk")))
    'Key: pk'
    """
    return "".join(each.text if isinstance(each, Code) else each for each in text)


def read_prose(text: str) -> Prose:
    """Return the text of a docstring or message: in one line, with names in backticks as code.

    >>> read_prose("The price of `base`.")
    ('The price of ', Code(text='base'), '.')
    """
    parts = " ".join(text.split()).split("`")
    if len(parts) % 2 == 0:
        return ("`".join(parts),)  # a backtick without its partner
    marked = ((Code(part) if place % 2 else part) for place, part in enumerate(parts) if part)
    return tuple(marked)


def join_codes(names: Iterable[str], separator: str = ", ") -> Prose:
    """Return names as a text, with a separator between them.

    >>> join_codes(["pk", "sk"])
    (Code(text='pk'), ', ', Code(text='sk'))
    """
    parts: list[str | Code] = []
    for name in names:
        parts += [separator, Code(name)] if parts else [Code(name)]
    return tuple(parts)


def _section_to_json(section: DocumentSection) -> dict[str, Any]:
    made: dict[str, Any] = {
        "title": section.title,
        "blocks": [_block_to_json(each) for each in section.blocks],
    }
    if section.sections:
        made["sections"] = [_section_to_json(each) for each in section.sections]
    return made


def _block_to_json(block: Block) -> dict[str, Any]:
    match block:
        case Paragraph(text=text):
            return {"text": to_plain(text)}
        case BulletList(items=items):
            return {"list": [to_plain(each) for each in items]}
        case Grid(columns=columns, rows=rows):
            listed = [dict(zip(columns, map(to_plain, row), strict=True)) for row in rows]
            return {"rows": listed}
        case EntityDiagram(mermaid=mermaid, relations=relations):
            return {"mermaid": mermaid, "relations": [to_plain(each) for each in relations]}
        case Picture(file=file, title=title, grid=grid):
            return {"picture": file, "title": title, **_block_to_json(grid)}
