"""Pictures of measurements as SVG, written by hand: a roofline with measured roofs, and time over a parameter."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from triptych.workbench.errors import RecordError

_WIDTH, _HEIGHT, _LEFT, _BELOW = 720, 440, 78, 56
_COLOURS = ("#1f6f8b", "#c8553d", "#588157", "#7b5ea7", "#946b2d", "#333333")
Point = tuple[float, float]


class _Axes:
    """Two logarithmic axes, and text in SVG."""

    def __init__(self, xs: Sequence[float], ys: Sequence[float], labels: tuple[str, str]) -> None:
        self._x = math.floor(math.log10(min(xs))), math.ceil(math.log10(max(xs)) + 1e-9)
        self._y = math.floor(math.log10(min(ys))), math.ceil(math.log10(max(ys)) + 1e-9)
        self.parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
            'font-family="sans-serif" font-size="12">',
            f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>',
        ]
        self._grid(*labels)

    def at(self, point: Point) -> Point:
        (x0, x1), (y0, y1) = self._x, self._y
        across = (math.log10(point[0]) - x0) / max(1, x1 - x0)
        up = (math.log10(point[1]) - y0) / max(1, y1 - y0)
        return _LEFT + across * (_WIDTH - _LEFT - 20), _HEIGHT - _BELOW - up * (_HEIGHT - _BELOW - 20)

    def line(self, points: Sequence[Point], colour: str, dots: bool = False) -> None:
        places = [self.at(point) for point in points]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        self.parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
        for x, y in places if dots else ():
            self.parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>')

    def text(self, point: Point, text: str, colour: str = "#333333", anchor: str = "start") -> None:
        x, y = self.at(point)
        self.raw_text(x, y, text, colour, anchor)

    def raw_text(self, x: float, y: float, text: str, colour: str = "#333333", anchor: str = "start") -> None:
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}" text-anchor="{anchor}">{escape(text)}</text>')

    def done(self) -> str:
        return "\n".join([*self.parts, "</svg>"]) + "\n"

    def _grid(self, across: str, up: str) -> None:
        low, left = 10.0 ** self._y[0], 10.0 ** self._x[0]
        for power in range(self._x[0], self._x[1] + 1):
            x, y = self.at((10.0**power, low))
            self.parts.append(f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{x:.1f}" y2="20" stroke="#e4e4e4"/>')
            self.raw_text(x, y + 16, _power(power), anchor="middle")
        for power in range(self._y[0], self._y[1] + 1):
            x, y = self.at((left, 10.0**power))
            self.parts.append(f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{_WIDTH - 20}" y2="{y:.1f}" stroke="#e4e4e4"/>')
            self.raw_text(x - 6, y + 4, _power(power), anchor="end")
        self.raw_text(_WIDTH / 2, _HEIGHT - 12, across, anchor="middle")
        self.raw_text(_LEFT, 14, up)


def roofline_svg(record: dict[str, Any]) -> str:
    """Every case of a record under the roofs that were measured on its machine."""
    cases = [case for case in record["cases"] if "roofs" in (case.get("work") or {})]
    if not cases:
        raise RecordError(
            "there is nothing to draw a roofline of",
            expected="a file with algorithmic_flops_bytes(*inputs), and roofs",
            instead="--sweep n=A:B:*2, for time over a parameter",
        )
    roofs = cases[0]["work"]["roofs"]
    points = [(max(c["work"]["flops"] / c["work"]["bytes"], 1e-3), max(c["work"]["gflops"], 1e-3)) for c in cases]
    peak = max(roofs["flops"].values()) / 1e9
    xs = [min(0.05, *(x for x, _ in points)), max(100.0, *(x for x, _ in points))]
    slowest = roofs["levels"][-1]["bandwidth"] / 1e9
    axes = _Axes(xs, [min(xs[0] * slowest, *(y for _, y in points)), peak], ("flop per byte", "GFLOP/s"))
    for i, level in enumerate(roofs["levels"]):
        rate = level["bandwidth"] / 1e9
        bend = max(peak / rate, xs[0])
        axes.line([(xs[0], xs[0] * rate), (bend, peak)], _COLOURS[i % len(_COLOURS)])
        axes.text((xs[0] * 1.1, xs[0] * rate * 1.25), f"{level['name']} {rate:.0f} GB/s", _COLOURS[i % len(_COLOURS)])
    for name, flops in roofs["flops"].items():
        axes.line([(xs[0], flops / 1e9), (xs[1], flops / 1e9)], "#333333")
        axes.text((xs[1], flops / 1e9 * 1.1), f"{name} {flops / 1e9:.0f} GFLOP/s", anchor="end")
    for case, point in zip(cases, points, strict=True):
        axes.line([point], "#d00000", dots=True)
        axes.text((point[0] * 1.1, point[1]), f"{Path(record['file']).stem} {case['case']}", "#d00000")
    return axes.done()


def sweep_svg(record: dict[str, Any], name: str) -> str:
    """Time of a call over the parameter of a sweep, hot and cold."""
    cases = [case for case in record["cases"] if name in case["parameters"] and "hot" in case]
    curves = {
        kind: [(float(case["parameters"][name]), case[kind]["median"] * 1e6) for case in cases if kind in case]
        for kind in ("hot", "cold")
    }
    points = [point for curve in curves.values() for point in curve]
    axes = _Axes([x for x, _ in points], [y for _, y in points], (name, "µs"))
    for (kind, curve), colour in zip(curves.items(), _COLOURS, strict=False):
        if curve:
            axes.line(curve, colour, dots=True)
            axes.text((curve[-1][0], curve[-1][1] * 1.15), kind, colour, anchor="end")
    return axes.done()


def write_picture(file: Path, svg: str) -> None:
    """As SVG, which every browser shows and which needs nothing here."""
    if file.suffix == ".svg":
        file.write_text(svg, encoding="utf-8")
        return
    raise RecordError(
        f"a picture is an .svg, not {file.suffix}", found=str(file), instead=str(file.with_suffix(".svg"))
    )


def _power(power: int) -> str:
    return f"{10.0**power:g}" if -4 < power < 6 else f"1e{power}"
