"""The design document for the browser: sections of blocks, which it writes as elements."""

from __future__ import annotations

from typing import Any, assert_never

from keyfold.export.documents import (
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


def show_document(document: DesignDocument) -> dict[str, Any]:
    """Return a document for the browser. A text is a list of texts and of `{"code": name}`."""
    return {
        "table": document.table,
        "introduction": _show_prose(document.introduction),
        "sections": [_show_section(each) for each in document.sections],
    }


def _show_section(section: DocumentSection) -> dict[str, Any]:
    return {
        "title": section.title,
        "blocks": [_show_block(each) for each in section.blocks],
        "sections": [_show_section(each) for each in section.sections],
    }


def _show_block(block: Block) -> dict[str, Any]:
    match block:
        case Paragraph(text=text):
            return {"kind": "paragraph", "text": _show_prose(text)}
        case BulletList(items=items):
            return {"kind": "list", "items": [_show_prose(each) for each in items]}
        case Grid():
            return {"kind": "grid", **_show_grid(block)}
        case EntityDiagram(relations=relations):
            # The diagram is the room's first tab; the document has its relations in words.
            return {"kind": "list", "items": [_show_prose(each) for each in relations]}
        case Picture(title=title, grid=grid):
            return {"kind": "grid", "title": title, **_show_grid(grid)}
        case _:
            assert_never(block)


def _show_grid(grid: Grid) -> dict[str, Any]:
    return {
        "columns": [{"name": name, "numeric": name in grid.numeric} for name in grid.columns],
        "rows": [[_show_prose(cell) for cell in row] for row in grid.rows],
    }


def _show_prose(text: Prose) -> list[str | dict[str, str]]:
    return [{"code": each.text} if isinstance(each, Code) else each for each in text]
