"""A document as one HTML page, which loads nothing: styles and pictures are in it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape

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

_DEEPEST = 6
_MOST_UNBROKEN = 32
_STYLE = """
:root { color-scheme: light dark; --ink: #1f2328; --dim: #59636e; --paper: #ffffff; --line: #d1d9e0;
  --shade: #f6f8fa; --accent: #0969da; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6edf3; --dim: #9198a1; --paper: #0d1117; --line: #3d444d; --shade: #161b22;
    --accent: #4493f8; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", sans-serif; }
.page { max-width: 1120px; margin: 0 auto; padding: 2rem 1.25rem 4rem; }
h1, h2, h3 { line-height: 1.25; margin: 2.2em 0 .6em; }
h1 { margin-top: 0; font-size: 2rem; }
h2 { font-size: 1.4rem; border-bottom: 1px solid var(--line); padding-bottom: .25em; }
h3 { font-size: 1.1rem; }
a { color: var(--accent); }
nav ul { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; list-style: none; padding: 0; }
code, pre { font: .875em/1.45 ui-monospace, "SF Mono", Menlo, Consolas, monospace; }
code { background: var(--shade); border-radius: 4px; padding: .1em .3em; overflow-wrap: break-word; }
code.name { white-space: nowrap; }
pre { background: var(--shade); padding: 1rem; border-radius: 6px; overflow: auto; }
.scroll { overflow-x: auto; margin: 1em 0; }
table { border-collapse: collapse; font-size: .925rem; }
th, td { border: 1px solid var(--line); padding: .35em .65em; text-align: left;
  vertical-align: top; }
td { min-width: 4rem; }
td:first-child { min-width: 9rem; }
th { background: var(--shade); white-space: nowrap; }
.number { text-align: right; font-variant-numeric: tabular-nums; }
figure { margin: 1em 0 2em; overflow-x: auto; }
figure svg { max-width: 100%; height: auto; min-width: 720px; }
figcaption, summary { color: var(--dim); font-size: .925rem; }
@media print { nav, details { display: none; } figure svg { min-width: 0; } }
""".strip()


def write_html(document: DesignDocument, title: str = "") -> str:
    """Return a document as one HTML page, for light and dark screens; `title` is its window's."""
    heading = escape(document.table)
    links = "".join(
        f'<li><a href="#{_anchor(each.title)}">{escape(each.title)}</a></li>'
        for each in document.sections
    )
    lines = [
        "<!doctype html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(title) or f'{heading}: table design'}</title>",
        f"<style>\n{_STYLE}\n</style>",
        "</head>",
        '<body><div class="page">',
        f"<h1>{heading}</h1>",
        f"<p>{_write(document.introduction)}</p>",
        f'<nav aria-label="Contents"><ul>{links}</ul></nav>',
        "<main>",
        *(line for each in document.sections for line in _write_section(each, 2)),
        "</main>",
        "</div></body>",
        "</html>",
    ]
    return "\n".join(lines) + "\n"


def _write_section(section: DocumentSection, level: int) -> Iterator[str]:
    heading = f"h{min(level, _DEEPEST)}"
    yield f'<{heading} id="{_anchor(section.title)}">{escape(section.title)}</{heading}>'
    for block in section.blocks:
        yield from _write_block(block)
    for each in section.sections:
        yield from _write_section(each, level + 1)


def _write_block(block: Block) -> Iterator[str]:
    match block:
        case Paragraph(text=text):
            yield f"<p>{_write(text)}</p>"
        case BulletList(items=items):
            yield from _write_list(items)
        case Grid():
            yield from _write_grid(block)
        case EntityDiagram(mermaid=mermaid, relations=relations):
            yield from _write_list(relations)
            source = escape(mermaid)
            yield f"<details><summary>The diagram in Mermaid</summary><pre>{source}</pre></details>"
        case Picture(title=title, svg=svg):
            yield f"<figure>{svg.strip()}<figcaption>{escape(title)}</figcaption></figure>"


def _write_list(items: tuple[Prose, ...]) -> Iterator[str]:
    if items:
        yield "<ul>"
        yield from (f"<li>{_write(each)}</li>" for each in items)
        yield "</ul>"


def _write_grid(grid: Grid) -> Iterator[str]:
    classes = [' class="number"' if column in grid.numeric else "" for column in grid.columns]
    heads = zip(classes, grid.columns, strict=True)
    yield '<div class="scroll"><table>'
    yield f"<thead><tr>{''.join(f'<th{kind}>{escape(name)}</th>' for kind, name in heads)}</tr></thead>"
    yield "<tbody>"
    for row in grid.rows:
        cells = zip(classes, row, strict=True)
        yield f"<tr>{''.join(f'<td{kind}>{_write(cell)}</td>' for kind, cell in cells)}</tr>"
    yield "</tbody></table></div>"


def _write(text: Prose) -> str:
    return "".join(
        _write_code(each.text) if isinstance(each, Code) else escape(each) for each in text
    )


def _write_code(text: str) -> str:
    """Return code; what is short is not broken into lines."""
    kind = ' class="name"' if len(text) <= _MOST_UNBROKEN else ""
    return f"<code{kind}>{escape(text)}</code>"


def _anchor(title: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", title.casefold()).strip("-")
