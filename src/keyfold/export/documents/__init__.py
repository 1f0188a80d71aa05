"""Design documents: a table's declaration as Markdown, as one HTML page, and as pictures.

`describe_design` returns the document as a tree, from a profile, a review and a cost report;
`write_markdown` and `write_html` print it.
"""

from __future__ import annotations

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
from keyfold.export.documents._design import describe_design
from keyfold.export.documents._html import write_html
from keyfold.export.documents._markdown import write_markdown

__all__ = [
    "Block",
    "BulletList",
    "Code",
    "DesignDocument",
    "DocumentSection",
    "EntityDiagram",
    "Grid",
    "Paragraph",
    "Picture",
    "Prose",
    "describe_design",
    "write_html",
    "write_markdown",
]
