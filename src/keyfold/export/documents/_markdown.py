"""A document as Markdown, as GitHub renders it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from keyfold.export.documents._blocks import (
    Block,
    BulletList,
    Code,
    DesignDocument,
    DocumentSection,
    EntityDiagram,
    Grid,
    Paragraph,
    Picture,
    Prose,
)

# Underscores inside of words are no markup.
_SPECIAL = re.compile(r"[\\`*\[\]<|]|(?<!\w)_|_(?!\w)")
_DEEPEST = 6


def write_markdown(
    document: DesignDocument,
    *,
    pictures: Mapping[str, str] | None = None,
    level: int = 1,
    with_title: bool = True,
) -> str:
    """Return a document as Markdown, which ends with a line break.

    `pictures` has the link of each picture's file, by its name; without it, tables show what the
    pictures do. `level` is that of the title's heading. Without title, the introduction is left out,
    too: for a page that has its own.
    """
    parts: list[str] = []
    if with_title:
        parts += [f"{'#' * level} {_escape(document.table)}", _write(document.introduction)]
    for section in document.sections:
        parts += _write_section(section, level + 1, pictures)
    return "\n\n".join(parts) + "\n"


def _write_section(
    section: DocumentSection, level: int, pictures: Mapping[str, str] | None
) -> Iterator[str]:
    yield f"{'#' * min(level, _DEEPEST)} {_escape(section.title)}"
    for block in section.blocks:
        yield from _write_block(block, pictures)
    for each in section.sections:
        yield from _write_section(each, level + 1, pictures)


def _write_block(block: Block, pictures: Mapping[str, str] | None) -> Iterator[str]:
    match block:
        case Paragraph(text=text):
            yield _write(text)
        case BulletList(items=items):
            yield "\n".join(f"- {_write(each)}" for each in items)
        case Grid():
            yield _write_grid(block)
        case EntityDiagram(mermaid=mermaid):
            yield f"```mermaid\n{mermaid}\n```"
        case Picture(file=file, title=title, grid=grid):
            yield (
                _write_grid(grid)
                if pictures is None
                else f"![{_escape(title)}]({_link(pictures[file])})"
            )


def _write_grid(grid: Grid) -> str:
    marks = ("---:" if column in grid.numeric else "---" for column in grid.columns)
    rows = ([_write(cell, in_table=True) for cell in row] for row in grid.rows)
    return "\n".join(map(_join_cells, (map(_escape, grid.columns), marks, *rows)))


def _join_cells(cells: Iterable[str]) -> str:
    padded = (f" {cell} " if cell else " " for cell in cells)
    return f"|{'|'.join(padded)}|"


def _write(text: Prose, *, in_table: bool = False) -> str:
    return "".join(
        _write_code(each.text, in_table=in_table) if isinstance(each, Code) else _escape(each)
        for each in text
    )


def _write_code(text: str, *, in_table: bool) -> str:
    """Return inline code; its fence is longer than any run of backticks inside."""
    shown = " ".join(text.split("\n"))
    # GitHub splits cells before it looks for code.
    shown = shown.replace("|", "\\|") if in_table else shown
    longest = max((len(run) for run in re.findall("`+", shown)), default=0)
    fence = "`" * (longest + 1)
    room = " " if shown.startswith("`") or shown.endswith("`") or not shown.strip() else ""
    return f"{fence}{room}{shown}{room}{fence}"


def _escape(text: str) -> str:
    """Return text in which no character is taken for markup."""
    return _SPECIAL.sub(r"\\\g<0>", " ".join(text.split("\n")))


def _link(path: str) -> str:
    return path.replace(" ", "%20").replace("(", "%28").replace(")", "%29")
