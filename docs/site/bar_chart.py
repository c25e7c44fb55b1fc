"""Horizontal bars as SVG text, in light and dark: groups of bars, a colour for each series, and a line for equality."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

_ROW, _BAR, _EDGE, _PLOT, _NUMBER = 20, 14, 16, 380, 70
_LETTER = 6.6
_STYLE = """\
text { font: 12px system-ui, -apple-system, "Segoe UI", "Liberation Sans", sans-serif; fill: #1f2328; }
.panel { fill: #f6f8fa; stroke: #d0d7de; } .title { font-weight: 600; font-size: 13px; } .quiet { fill: #57606a; }
.line { stroke: #57606a; stroke-dasharray: 3 3; } .s0 { fill: #0969da; } .s1 { fill: #bf8700; } .s2 { fill: #8250df; }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3; } .panel { fill: #161b22; stroke: #30363d; } .quiet { fill: #9da7b1; } .line { stroke: #9da7b1; }
.s0 { fill: #4493f8; } .s1 { fill: #d29922; } .s2 { fill: #ab7df8; }
}"""


@dataclass(frozen=True, slots=True)
class Chart:
    """What is drawn. Bars longer than `limit` are cut and say their number all the same."""

    title: str
    bars: Mapping[str, Mapping[str, float]]
    """Of each group, the value of each series that it has."""
    unit: str = ""
    line: float | None = None
    """Where a dashed line stands, and `line_says` under it."""
    line_says: str = ""
    limit: float | None = None
    notes: Sequence[str] = ()
    """Under the bars: machine, versions, date, command."""


def number(value: float) -> str:
    """Two digits behind the point of what is small, none of what is large and of what was counted."""
    return (
        f"{value:,.0f}" if value >= 100 or isinstance(value, int) else f"{value:.1f}" if value >= 10 else f"{value:.2f}"
    )


def svg(chart: Chart) -> str:
    """The chart as a picture of its own."""
    series = list(dict.fromkeys(name for group in chart.bars.values() for name in group))
    longest = max(value for group in chart.bars.values() for value in group.values())
    end = max(min(longest, chart.limit or longest), chart.line or 0.0)
    label = max(map(len, chart.bars)) * _LETTER + _EDGE
    height, parts = float(_EDGE + _ROW), [_text(_EDGE, _EDGE + 8, chart.title, "title")]
    if len(series) > 1:
        parts.append(_legend(series, height))
        height += _ROW
    top = height
    for name, group in chart.bars.items():
        middle = height + len(group) * (_BAR + 2) / 2 + 4
        parts.append(_text(_EDGE, middle, name))
        for which, value in group.items():
            parts.append(_bar(label + _EDGE, height, value, end, f"s{series.index(which) % 3}", chart.unit))
            height += _BAR + 2
        height += 6
    if chart.line is not None:
        parts.insert(1, _dashed(label + _EDGE + chart.line / end * _PLOT, top - 4, height))
        parts.append(_text(label + _EDGE + chart.line / end * _PLOT, height + 12, chart.line_says, "quiet", "middle"))
        height += _ROW
    for note in chart.notes:
        parts.append(_text(_EDGE, height + 12, note, "quiet"))
        height += 16
    return _picture(chart, parts, label, height + _EDGE)


def _picture(chart: Chart, parts: Sequence[str], label: float, height: float) -> str:
    words = max((len(text) * _LETTER for text in (chart.title, *chart.notes)), default=0)
    width = max(label + _EDGE + _PLOT + _NUMBER, words + 2 * _EDGE)
    size = f'viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}"'
    panel = f'<rect class="panel" x="0.5" y="0.5" width="{width - 1:.0f}" height="{height - 1:.0f}" rx="6"/>'
    head = f"<title>{escape(chart.title)}</title>\n<style>\n{_STYLE}\n</style>\n{panel}\n"
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>\n{head}{"".join(parts)}</svg>\n'


def _bar(left: float, top: float, value: float, end: float, style: str, unit: str) -> str:
    cut = value > end
    width = min(value, end) / end * _PLOT
    bar = f'<rect class="{style}" x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{_BAR}" rx="2"/>\n'
    said = f"{'… ' if cut else ''}{number(value)}{unit}"
    return bar + _text(left + width + 5, top + 11, said)


def _legend(series: Sequence[str], top: float) -> str:
    parts, left = [], float(_EDGE)
    for index, name in enumerate(series):
        parts.append(f'<rect class="s{index % 3}" x="{left:.1f}" y="{top - 2:.1f}" width="10" height="10" rx="2"/>\n')
        parts.append(_text(left + 14, top + 7, name, "quiet"))
        left += 14 + len(name) * _LETTER + _EDGE
    return "".join(parts)


def _dashed(left: float, top: float, bottom: float) -> str:
    return f'<line class="line" x1="{left:.1f}" x2="{left:.1f}" y1="{top:.1f}" y2="{bottom:.1f}"/>\n'


def _text(left: float, top: float, text: str, style: str = "", anchor: str = "") -> str:
    words = (f' class="{style}"' if style else "") + (f' text-anchor="{anchor}"' if anchor else "")
    return f'<text x="{left:.1f}" y="{top:.1f}"{words}>{escape(text)}</text>\n'
