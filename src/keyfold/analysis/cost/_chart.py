"""A chart of a cost report, as one SVG file: what patterns cost, and how the month grows."""

from __future__ import annotations

from collections.abc import Iterator
from xml.sax.saxutils import escape

from keyfold.analysis.cost._reports import CostReport

_WIDTH, _ROW, _LABELS, _MARGIN = 760, 22, 300, 16
_GROWTH_HEIGHT = 160
_MOST_BARS = 14
_STYLE = (
    "text{font:12px system-ui,sans-serif;fill:#1f2328}"
    ".title{font-weight:600;font-size:14px}.dim{fill:#656d76}"
    ".read{fill:#2f81f7}.write{fill:#db6d28}.storage{fill:#8250df}"
    ".line{fill:none;stroke:#8250df;stroke-width:2}.axis{stroke:#d0d7de}"
    "@media(prefers-color-scheme:dark){text{fill:#e6edf3}.dim{fill:#8d96a0}.axis{stroke:#30363d}}"
)


def draw_chart(report: CostReport) -> str:
    """Return the chart as the text of an SVG file."""
    bars = list(_list_bars(report))
    top = 48
    growth_top = top + len(bars) * _ROW + 44
    height = growth_top + _GROWTH_HEIGHT + 40
    forecast = report.forecast
    title = f"{forecast.table}: ${forecast.month_usd:,.2f} a month"
    source = f"on demand, {forecast.prices.region}, prices of {forecast.prices.date}"
    size = f'viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">',
        f"<title>{escape(title)}</title><style>{_STYLE}</style>",
        f'<text class="title" x="{_MARGIN}" y="22">{escape(title)}</text>',
        f'<text class="dim" x="{_MARGIN}" y="38">{escape(source)}</text>',
        *_draw_bars(bars, top),
        *_draw_growth(report, growth_top),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _list_bars(report: CostReport) -> Iterator[tuple[str, str, float]]:
    """Yield the label, the class and the dollars of each bar, the longest first."""
    patterns = sorted(report.forecast.patterns, key=lambda each: -each.month_usd)
    priced = [each for each in patterns if each.month_usd]
    for each in priced[:_MOST_BARS]:
        yield each.name, "write" if each.write_units else "read", each.month_usd
    rest = sum(each.month_usd for each in priced[_MOST_BARS:])
    if rest:
        yield f"{len(priced) - _MOST_BARS} other patterns", "read", rest
    yield "storage", "storage", report.forecast.storage_usd
    for name, usd in report.forecast.extras.items():
        yield name, "storage", usd


def _draw_bars(bars: list[tuple[str, str, float]], top: int) -> Iterator[str]:
    most = max((usd for _, _, usd in bars), default=0.0) or 1.0
    room = _WIDTH - _LABELS - 2 * _MARGIN - 80
    for number, (label, kind, usd) in enumerate(bars):
        y = top + number * _ROW
        width = max(1.0, room * usd / most)
        yield f'<text x="{_LABELS}" y="{y + 14}" text-anchor="end">{escape(_shorten(label))}</text>'
        yield (
            f'<rect class="{kind}" x="{_LABELS + 8}" y="{y + 3}" width="{width:.1f}" '
            f'height="{_ROW - 8}" rx="2"/>'
        )
        yield f'<text class="dim" x="{_LABELS + 14 + width:.1f}" y="{y + 14}">${usd:,.2f}</text>'


def _shorten(label: str) -> str:
    return label if len(label) <= 44 else f"{label[:43]}…"  # noqa: PLR2004 - fits the labels' room


def _draw_growth(report: CostReport, top: int) -> Iterator[str]:
    points = report.growth
    most = max(each.month_usd for each in points) * 1.1 or 1.0
    left, right = _MARGIN + 60, _WIDTH - _MARGIN
    bottom = top + _GROWTH_HEIGHT

    def place(month: float, usd: float) -> str:
        x = left + (right - left) * month / (points[-1].month or 1)
        return f"{x:.1f},{bottom - (bottom - top) * usd / most:.1f}"

    yield f'<text x="{_MARGIN}" y="{top - 10}">The month, as the table grows</text>'
    yield f'<line class="axis" x1="{left}" y1="{bottom}" x2="{right}" y2="{bottom}"/>'
    line = " ".join(place(each.month, each.month_usd) for each in points)
    yield f'<polyline class="line" points="{line}"/>'
    for each in points[:: max(1, (len(points) - 1) // 3)]:
        x, y = place(each.month, each.month_usd).split(",")
        anchor = "start" if not each.month else "end" if each is points[-1] else "middle"
        yield f'<text class="dim" x="{x}" y="{bottom + 16}" text-anchor="{anchor}">{each.month} months</text>'
        yield f'<text x="{x}" y="{float(y) - 6:.1f}" text-anchor="{anchor}">${each.month_usd:,.2f}</text>'
