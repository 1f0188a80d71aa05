"""Charts of costs, each as one SVG file: the month by pattern, its growth, and two tables."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

from keyfold.analysis.cost._comparison import CostComparison
from keyfold.analysis.cost._reports import CostReport

_WIDTH, _LABELS, _MARGIN, _TOP = 800, 310, 20, 84
_ROW, _BAR = 24, 14
_GROWTH_HEIGHT, _GROWTH_LEFT = 170, 72
_MOST_BARS = 14
# Dollars; less is shown as 0.00.
_LEAST = 0.005
# Room for the dollars behind the longest bar.
_AMOUNT = 96
_LONGEST_LABEL = 44
# The background is drawn, since viewers with a dark theme may show pictures on white.
_STYLE = (
    ".paper{fill:#ffffff}"
    "text{font-family:system-ui,-apple-system,'Segoe UI',sans-serif;font-size:13px;fill:#1f2328}"
    ".title{font-weight:600;font-size:16px}.head{font-weight:600}.dim{fill:#59636e}"
    ".read,.one{fill:#2f81f7}.write,.other{fill:#d4772c}.storage{fill:#8957e5}"
    ".line{fill:none;stroke:#8957e5;stroke-width:2}.dot{fill:#8957e5}.grid{stroke:#d1d9e0}"
    "@media(prefers-color-scheme:dark)"
    "{.paper{fill:#0d1117}text{fill:#f0f6fc}.dim{fill:#9198a1}.grid{stroke:#3d444d}}"
)


@dataclass(frozen=True, slots=True)
class _Bar:
    """A labelled bar: its segments, each a class of the style and dollars."""

    label: str
    segments: tuple[tuple[str, float], ...]
    # What is written in place of the dollars if there are no segments.
    instead: str = "none"

    @property
    def usd(self) -> float:
        return sum(usd for _, usd in self.segments)


def draw_chart(report: CostReport) -> str:
    """Return a chart of a table's month and its growth, as the text of an SVG file."""
    bars = list(_list_bars(report))
    places = [_TOP + number * _ROW for number in range(len(bars))]
    growth_top = _TOP + len(bars) * _ROW + 56
    forecast = report.forecast
    title = f"{forecast.table}: ${forecast.month_usd:,.2f} a month"
    legend = (("read", "reads"), ("write", "writes"), ("storage", "storage and extras"))
    return _draw_page(
        title,
        f"on demand, {forecast.prices.region}, prices of {forecast.prices.date}",
        legend,
        [*_draw_bars(bars, places), *_draw_growth(report, growth_top)],
        growth_top + _GROWTH_HEIGHT + 36,
    )


def draw_comparison(comparison: CostComparison) -> str:
    """Return a chart of two tables' months, side by side, as the text of an SVG file."""
    one, other = comparison.names
    prices = comparison.one.forecast.prices
    *rows, month = comparison.rows
    rows.sort(key=lambda row: -abs(row.difference))
    told = [row for row in rows[:_MOST_BARS] if abs(row.difference) >= _LEAST]
    bars: list[_Bar] = []
    for row in (month, *told):
        instead = "none" if row.is_measured else "not measured"
        bars.append(_Bar(row.name, () if row.one is None else (("one", row.one),), instead))
        bars.append(_Bar("", () if row.other is None else (("other", row.other),), instead))
    title = f"{one} ${month.one:,.2f}, {other} ${month.other:,.2f} a month"
    source = f"on demand, {prices.region}, prices of {prices.date}; the largest differences first"
    # The bars of a pair are closer to each other than to the next pair.
    places = [_TOP + each // 2 * 2 * _ROW + each % 2 * (_BAR + 2) for each in range(len(bars))]
    height = _TOP + len(bars) * _ROW + _MARGIN
    drawn = [*_draw_bars(bars, places)]
    return _draw_page(title, source, (("one", one), ("other", other)), drawn, height)


def _draw_page(
    title: str, source: str, legend: Sequence[tuple[str, str]], body: list[str], height: int
) -> str:
    size = f'viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">',
        f"<title>{escape(title)}</title><style>{_STYLE}</style>",
        f'<rect class="paper" width="{_WIDTH}" height="{height}"/>',
        f'<text class="title" x="{_MARGIN}" y="30">{escape(title)}</text>',
        f'<text class="dim" x="{_MARGIN}" y="50">{escape(source)}</text>',
        *_draw_legend(legend),
        *body,
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _draw_legend(legend: Sequence[tuple[str, str]]) -> Iterator[str]:
    x = _LABELS + 8
    for kind, label in legend:
        yield f'<rect class="{kind}" x="{x}" y="62" width="10" height="10" rx="2"/>'
        yield f'<text class="dim" x="{x + 16}" y="71">{escape(_shorten(label))}</text>'
        x += 40 + 7 * min(len(label), _LONGEST_LABEL)


def _list_bars(report: CostReport) -> Iterator[_Bar]:
    """Yield the bars of the patterns, the longest first, then storage and extras."""
    rates = report.forecast.prices.of(report.forecast.table_class)
    found: list[_Bar] = []
    for each in report.forecast.patterns:
        reads = each.calls * each.read_units * rates.million_read_requests / 1_000_000
        segments = (("read", reads), ("write", each.month_usd - reads))
        found.append(_Bar(each.name, segments))
    priced = sorted((bar for bar in found if bar.usd > 0), key=lambda bar: -bar.usd)
    yield from priced[:_MOST_BARS]
    rest = priced[_MOST_BARS:]
    if rest:
        sums = (
            ("read", sum(bar.segments[0][1] for bar in rest)),
            ("write", sum(bar.segments[1][1] for bar in rest)),
        )
        yield _Bar(f"{len(rest)} other pattern{'s' if len(rest) > 1 else ''}", sums)
    yield _Bar("storage", (("storage", report.forecast.storage_usd),))
    for name, usd in report.forecast.extras.items():
        yield _Bar(name, (("storage", usd),))


def _draw_bars(bars: list[_Bar], places: list[int]) -> Iterator[str]:
    most = max((bar.usd for bar in bars), default=0.0) or 1.0
    left = _LABELS + 8
    room = _WIDTH - left - _MARGIN - _AMOUNT
    for bar, y in zip(bars, places, strict=True):
        label = escape(_shorten(bar.label))
        if label:
            yield f'<text x="{_LABELS}" y="{y + 16}" text-anchor="end">{label}</text>'
        x = float(left)
        for kind, usd in bar.segments:
            width = room * usd / most
            if width > 0:
                place = f'x="{x:.1f}" y="{y + 5}" width="{max(1.0, width):.1f}" height="{_BAR}"'
                yield f'<rect class="{kind}" {place}/>'
            x += width
        amount = f"${bar.usd:,.2f}" if bar.segments else bar.instead
        yield f'<text class="dim" x="{x + 6:.1f}" y="{y + 16}">{amount}</text>'


def _shorten(label: str) -> str:
    return label if len(label) <= _LONGEST_LABEL else f"{label[: _LONGEST_LABEL - 1]}…"


def _draw_growth(report: CostReport, top: int) -> Iterator[str]:
    points = report.growth
    step = _round_step(max(each.month_usd for each in points) / 4)
    most = step * max(1, math.ceil(max(each.month_usd for each in points) / step))
    left, right, bottom = _GROWTH_LEFT, _WIDTH - _MARGIN - 24, top + _GROWTH_HEIGHT

    def x_of(month: float) -> float:
        return left + (right - left) * month / (points[-1].month or 1)

    def y_of(usd: float) -> float:
        return bottom - (bottom - top) * usd / most

    yield f'<text class="head" x="{_MARGIN}" y="{top - 18}">The month, as the table grows</text>'
    for number in range(round(most / step) + 1):
        y = y_of(number * step)
        yield f'<line class="grid" x1="{left}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}"/>'
        amount = f"${number * step:,.{0 if step >= 1 else 2}f}"
        yield f'<text class="dim" x="{left - 8}" y="{y + 4:.1f}" text-anchor="end">{amount}</text>'
    line = " ".join(f"{x_of(each.month):.1f},{y_of(each.month_usd):.1f}" for each in points)
    yield f'<polyline class="line" points="{line}"/>'
    for each in points[:: max(1, (len(points) - 1) // 3)]:
        x, y = x_of(each.month), y_of(each.month_usd)
        anchor = "start" if not each.month else "end" if each is points[-1] else "middle"
        when = "now" if not each.month else f"{each.month} months"
        yield f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="3.5"/>'
        # Below the line if there is no room above it.
        label = y - 9 if y - 9 > top else y + 19
        yield f'<text x="{x:.1f}" y="{label:.1f}" text-anchor="{anchor}">${each.month_usd:,.2f}</text>'
        yield f'<text class="dim" x="{x:.1f}" y="{bottom + 20}" text-anchor="{anchor}">{when}</text>'


def _round_step(usd: float) -> float:
    """Return a round number of dollars that is not smaller: 1, 2 or 5 times a power of ten."""
    if usd <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(usd))
    return next(each * power for each in (1, 2, 5, 10) if each * power >= usd)
