"""Item collections as an SVG picture: a partition key on the left, its items to the right.

Items have the colour of their entity, and its name, so that nothing depends on the colour alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

from keyfold.export.documents._item_collections import CollectionView, ItemCollection, ShownItem

_MOST_WIDTH, _LEAST_WIDTH, _MARGIN, _GAP, _ROW = 1080, 640, 16, 10, 40
_LEGEND_ROW, _TITLE = 24, 30
# The widths of a character: of values and keys, of names, of heads, of the legend.
_VALUE_CHARACTER, _NAME_CHARACTER, _HEAD_CHARACTER, _LEGEND_CHARACTER = 7.0, 6.1, 7.3, 7.0
_PADDING = 8
_MOST_KEY_CHARACTERS, _MOST_VALUE_CHARACTERS = 46, 28
_MORE_WIDTH = 58

# Fill and stroke for light screens, then for dark ones. Neighbours are told apart by most eyes.
_COLOURS = (
    ("#dbeafe", "#2563eb", "#16294d", "#60a5fa"),
    ("#fde8cf", "#c2570c", "#4a2b10", "#fb923c"),
    ("#d9f2df", "#15803d", "#12361f", "#4ade80"),
    ("#f9d9e7", "#be185d", "#4a1630", "#f472b6"),
    ("#ebe1fb", "#7e3af2", "#301b58", "#a78bfa"),
    ("#fbf0bd", "#9a6b00", "#41330a", "#facc15"),
    ("#cff1f2", "#0e7490", "#0d3840", "#22d3ee"),
    ("#fbdcd9", "#b91c1c", "#491a18", "#f87171"),
    ("#e6edcc", "#4d7c0f", "#29380f", "#a3e635"),
    ("#dfe3ea", "#475569", "#2a3341", "#94a3b8"),
    ("#f3dcf8", "#a21caf", "#43154a", "#e879f9"),
    ("#d5e9e4", "#0f766e", "#10352f", "#2dd4bf"),
)


@dataclass(frozen=True, slots=True)
class _KeyColumns:
    """Where the columns begin, and how wide they are."""

    partition_width: float
    sort_width: float

    @property
    def sort(self) -> float:
        return _MARGIN + self.partition_width

    @property
    def attributes(self) -> float:
        return self.sort + self.sort_width


def draw_collections(view: CollectionView, entities: Sequence[str]) -> str:
    """Return the picture as the text of an SVG file; `entities` decide the colours, by order."""
    colours = {name: place % len(_COLOURS) for place, name in enumerate(entities)}
    columns = _measure_columns(view)
    shown = [name for name in entities if _has_entity(view, name)]
    width = _measure_width(view, columns)
    legend, legend_height = _draw_legend(shown, colours, width)
    top = _TITLE + legend_height + 30
    body: list[str] = []
    y = float(top)
    for collection in view.collections:
        body += _draw_collection(collection, view.key.partition, columns, colours, y)
        y += _height_of(collection) + _GAP
    if view.left_out:
        body.append(_text(_MARGIN, y + 12, f"and {view.left_out} more partitions", "kf-dim"))
        y += 20
    height = round(y - _GAP + _MARGIN) if view.collections else top
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="kf" {size} role="img">',
        f"<title>{escape(view.title)}</title>",
        f"<style>{_write_style(set(colours.values()))}</style>",
        f'<rect class="kf-paper" width="{width}" height="{height}" rx="8"/>',
        _text(_MARGIN, 24, view.title, "kf-title"),
        *legend,
        *_draw_heads(view, columns, top - 10),
        *body,
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _write_style(colours: set[int]) -> str:
    light = "".join(_write_colour(place, *_COLOURS[place][:2]) for place in sorted(colours))
    dark = "".join(_write_colour(place, *_COLOURS[place][2:]) for place in sorted(colours))
    return (
        ".kf text{font:11px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;"
        "fill:#1f2328}"
        ".kf .kf-title,.kf .kf-head,.kf .kf-name,.kf .kf-legend,.kf .kf-dim{"
        "font-family:system-ui,'Segoe UI',Helvetica,Arial,sans-serif}"
        ".kf .kf-title{font-size:14px;font-weight:600}.kf .kf-head{font-weight:600}"
        ".kf .kf-key{font-weight:600}.kf .kf-name{font-size:10px}.kf .kf-legend{font-size:12px}"
        ".kf .kf-name,.kf .kf-head,.kf .kf-dim{fill:#59636e}"
        ".kf-paper{fill:#fff}.kf-cell{stroke:#d1d9e0;fill:none}.kf-partition{fill:#f6f8fa;stroke:#818b98}"
        f"{light}"
        "@media(prefers-color-scheme:dark){.kf text{fill:#e6edf3}.kf-paper{fill:#0d1117}"
        ".kf .kf-name,.kf .kf-head,.kf .kf-dim{fill:#9198a1}"
        f".kf-cell{{stroke:#3d444d}}.kf-partition{{fill:#161b22;stroke:#656c76}}{dark}}}"
    )


def _write_colour(place: int, fill: str, stroke: str) -> str:
    return f".kf-e{place}{{fill:{fill};stroke:{stroke}}}.kf .kf-t{place}{{fill:{stroke};font-weight:600}}"


def _has_entity(view: CollectionView, name: str) -> bool:
    return any(item.entity == name for each in view.collections for item in each.items)


def _measure_columns(view: CollectionView) -> _KeyColumns:
    """Return columns as wide as their heads and their longest key, up to a limit."""
    partitions = [_label(view.key.partition, each.partition) for each in view.collections]
    items = [item for each in view.collections for item in each.items]
    sorts = [_join_sort(item) for item in items]
    heads = _write_heads(view)
    names = max((len(item.entity) for item in items), default=0)
    partition = max((len(line) for lines in partitions for line in lines), default=0)
    sort = max(map(len, sorts), default=0)
    return _KeyColumns(
        max(
            min(partition, _MOST_KEY_CHARACTERS) * _VALUE_CHARACTER,
            len(heads[0]) * _HEAD_CHARACTER,
        )
        + 2 * _PADDING,
        max(
            min(sort, _MOST_KEY_CHARACTERS) * _VALUE_CHARACTER,
            len(heads[1]) * _HEAD_CHARACTER,
            names * _NAME_CHARACTER,
        )
        + 2 * _PADDING,
    )


def _write_heads(view: CollectionView) -> tuple[str, str]:
    sort = f"Sort key: {', '.join(view.key.sort)}" if view.key.sort else ""
    return f"Partition key: {', '.join(view.key.partition)}", sort


def _join_sort(item: ShownItem) -> str:
    return ", ".join(item.sort)


def _label(names: Sequence[str], values: Sequence[str]) -> list[str]:
    """Return the lines of a key: its value, or each attribute of a key of several by its name."""
    if len(values) == 1:
        return [values[0]]
    return [f"{name}: {value}" for name, value in zip(names, values, strict=True)]


def _draw_legend(
    entities: Sequence[str], colours: Mapping[str, int], width: float
) -> tuple[list[str], int]:
    """Return the legend, in as many rows as it needs, and its height."""
    drawn: list[str] = []
    x, y = float(_MARGIN), float(_TITLE + 10)
    for name in entities:
        needed = 18 + len(name) * _LEGEND_CHARACTER + 16
        if x + needed > width - _MARGIN and x > _MARGIN:
            x, y = float(_MARGIN), y + _LEGEND_ROW
        drawn.append(
            f'<rect class="kf-e{colours[name]}" x="{x:.1f}" y="{y:.1f}" width="12" height="12" rx="3"/>'
        )
        drawn.append(_text(x + 18, y + 10, name, "kf-legend"))
        x += needed
    return drawn, round(y) - _TITLE + _LEGEND_ROW if entities else 0


def _draw_heads(view: CollectionView, columns: _KeyColumns, y: float) -> Iterator[str]:
    partition, sort = _write_heads(view)
    yield _text(_MARGIN + _PADDING, y, partition, "kf-head")
    if sort:
        yield _text(columns.sort + _PADDING, y, sort, "kf-head")
    if any(item.attributes for each in view.collections for item in each.items):
        yield _text(columns.attributes + _PADDING, y, "Attributes", "kf-head")


def _height_of(collection: ItemCollection) -> float:
    rows = max(len(collection.items), 0)
    return rows * _ROW + (20 if collection.left_out else 0)


def _draw_collection(
    collection: ItemCollection,
    names: Sequence[str],
    columns: _KeyColumns,
    colours: Mapping[str, int],
    y: float,
) -> Iterator[str]:
    height = _height_of(collection)
    yield (
        f'<rect class="kf-partition" x="{_MARGIN}" y="{y:.1f}" '
        f'width="{columns.partition_width:.1f}" height="{height:.1f}" rx="4"/>'
    )
    labels = _label(names, collection.partition)
    lines = [_shorten(each, _MOST_KEY_CHARACTERS) for each in labels]
    first = y + height / 2 + 4 - (len(lines) - 1) * 7
    for place, line in enumerate(lines):
        yield _text(_MARGIN + _PADDING, first + 14 * place, line, "kf-key")
    for place, item in enumerate(collection.items):
        yield from _draw_item(item, columns, colours, y + place * _ROW)
    if collection.left_out:
        below = y + len(collection.items) * _ROW + 14
        yield _text(columns.sort + _PADDING, below, f"and {collection.left_out} more", "kf-dim")


def _draw_item(
    item: ShownItem, columns: _KeyColumns, colours: Mapping[str, int], y: float
) -> Iterator[str]:
    place = colours.get(item.entity, 0)
    yield (
        f'<rect class="kf-e{place}" x="{columns.sort:.1f}" y="{y:.1f}" '
        f'width="{columns.sort_width:.1f}" height="{_ROW}"/>'
    )
    yield _text(columns.sort + _PADDING, y + 15, item.entity, f"kf-name kf-t{place}")
    sort = _shorten(_join_sort(item), _MOST_KEY_CHARACTERS)
    if sort:
        yield _text(columns.sort + _PADDING, y + 31, sort, "kf-key")
    for cell in _place_cells(item, columns):
        if cell.name is None:
            yield _text(cell.x + _PADDING, y + 23, cell.value, "kf-dim")
            continue
        box = f'x="{cell.x:.1f}" y="{y:.1f}" width="{cell.width:.1f}" height="{_ROW}"'
        yield f'<rect class="kf-cell" {box}/>'
        yield _text(cell.x + _PADDING, y + 15, cell.name, "kf-name")
        yield _text(cell.x + _PADDING, y + 31, cell.value, "")


@dataclass(frozen=True, slots=True)
class _Cell:
    """One attribute of an item, where it is drawn; without a name, how many there is no room for."""

    x: float
    width: float
    name: str | None
    value: str


def _place_cells(item: ShownItem, columns: _KeyColumns) -> Iterator[_Cell]:
    """Yield as many attributes as there is room for."""
    x, end = columns.attributes, _MOST_WIDTH - _MARGIN
    for number, (name, value) in enumerate(item.attributes):
        rest = len(item.attributes) - number
        is_long = len(value) > _MOST_VALUE_CHARACTERS
        shown = f"{value[: _MOST_VALUE_CHARACTERS - 1]}…" if is_long else value
        width = max(len(name) * _NAME_CHARACTER, len(shown) * _VALUE_CHARACTER) + 2 * _PADDING
        room = end if rest == 1 else end - _MORE_WIDTH
        if x + width > room:
            yield _Cell(x, _MORE_WIDTH, None, f"+{rest} more")
            return
        yield _Cell(x, width, name, shown)
        x += width


def _measure_width(view: CollectionView, columns: _KeyColumns) -> int:
    """Return the width of the picture: that of its widest item, in limits."""
    edges = [
        cell.x + cell.width
        for each in view.collections
        for item in each.items
        for cell in _place_cells(item, columns)
    ]
    widest = max([columns.attributes, *edges]) + _MARGIN
    return min(_MOST_WIDTH, max(_LEAST_WIDTH, round(widest)))


def _shorten(text: str, most: int) -> str:
    """Return a key of at most so many characters; what is left out is in the middle."""
    if len(text) <= most:
        return text
    tail = most // 3
    return f"{text[: most - tail - 1]}…{text[-tail:]}"


def _text(x: float, y: float, text: str, kind: str) -> str:
    name = f' class="{kind}"' if kind else ""
    return f'<text{name} x="{x:.1f}" y="{y:.1f}">{escape(_printable(text))}</text>'


def _printable(text: str) -> str:
    """Return text without the control characters that XML does not allow."""
    return "".join(each if each.isprintable() else "�" for each in text)
