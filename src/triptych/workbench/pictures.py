"""Charts of measurements on logarithmic axes: a roofline with measured roofs, and time over a parameter."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable, Sequence
from dataclasses import field
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, TypeAlias

from triptych.support.dataclass import dataclass
from triptych.support.forking import import_late
from triptych.workbench.errors import RecordError

WIDTH, HEIGHT = 720, 440
_LEFT, _BELOW = 78, 56
_GREY = "#333333"
Point: TypeAlias = tuple[float, float]
Anchor: TypeAlias = Literal["start", "middle", "end"]


@dataclass(frozen=True, slots=True)
class Line:
    """Through points, which are dots if they were measured."""

    points: tuple[Point, ...]
    colour: str
    dots: bool


@dataclass(frozen=True, slots=True)
class Words:
    """A label at a point."""

    point: Point
    text: str
    colour: str
    anchor: Anchor


@dataclass(slots=True)
class Axes:
    """Two logarithmic axes, by their ends as powers of ten, and what is drawn over them."""

    x: tuple[float, float]
    y: tuple[float, float]
    labels: tuple[str, str]
    lines: list[Line] = field(default_factory=list)
    words: list[Words] = field(default_factory=list)

    @staticmethod
    def around(xs: Sequence[float], ys: Sequence[float], labels: tuple[str, str]) -> Axes:
        """Axes that have room for these numbers."""
        return Axes(_powers(xs), _powers(ys), labels)

    def line(self, points: Sequence[Point], colour: str, dots: bool = False) -> None:
        self.lines.append(Line(tuple(points), colour, dots))

    def text(self, point: Point, text: str, colour: str = _GREY, anchor: Anchor = "start") -> None:
        self.words.append(Words(point, text, colour, anchor))

    def svg(self) -> str:
        """The picture, complete."""
        box = f'viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12"'
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" {box}>',
            f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        ]
        parts += self._grid()
        for line in self.lines:
            places = [self._at(point) for point in line.points]
            path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
            parts.append(f'<polyline points="{path}" fill="none" stroke="{line.colour}" stroke-width="1.5"/>')
            if line.dots:
                parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{line.colour}"/>' for x, y in places]
        parts += [_words(*self._at(one.point), one.text, one.colour, one.anchor) for one in self.words]
        return "\n".join([*parts, "</svg>"]) + "\n"

    def _at(self, point: Point) -> Point:
        (x0, x1), (y0, y1) = self.x, self.y
        across = (math.log10(point[0]) - x0) / max(1, x1 - x0)
        up = (math.log10(point[1]) - y0) / max(1, y1 - y0)
        return _LEFT + across * (WIDTH - _LEFT - 20), HEIGHT - _BELOW - up * (HEIGHT - _BELOW - 20)

    def _grid(self) -> list[str]:
        parts = []
        for power in whole_powers(*self.x):
            x, y = self._at((10.0**power, 10.0 ** self.y[0]))
            parts.append(f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{x:.1f}" y2="20" stroke="#e4e4e4"/>')
            parts.append(_words(x, y + 16, power_of_ten(power), _GREY, "middle"))
        for power in whole_powers(*self.y):
            x, y = self._at((10.0 ** self.x[0], 10.0**power))
            parts.append(f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{WIDTH - 20}" y2="{y:.1f}" stroke="#e4e4e4"/>')
            parts.append(_words(x - 6, y + 4, power_of_ten(power), _GREY, "end"))
        parts.append(_words(WIDTH / 2, HEIGHT - 12, self.labels[0], _GREY, "middle"))
        parts.append(_words(_LEFT, 14, self.labels[1], _GREY, "start"))
        return parts


def power_of_ten(power: int) -> str:
    """As a label of an axis."""
    return f"{10.0**power:g}" if -4 < power < 6 else f"1e{power}"


def whole_powers(low: float, high: float) -> range:
    """Those between the ends of an axis."""
    return range(math.ceil(low - 1e-9), math.floor(high + 1e-9) + 1)


def _powers(numbers: Sequence[float]) -> tuple[float, float]:
    """From the power of ten below the least to a little above the most, over two powers at least: both have labels."""
    low, most = math.floor(math.log10(min(numbers))), math.log10(max(numbers))
    return low, max(low + 1.0, most + 0.1)


def _words(x: float, y: float, text: str, colour: str, anchor: Anchor) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}" text-anchor="{anchor}">{escape(text)}</text>'


# Pictures as PNG, drawn by matplotlib, which is installed only where somebody wants it (`triptych[viz]`).

_DOTS_PER_INCH = 100
_ALIGNED = {"start": "left", "middle": "center", "end": "right"}


def check_png(file: Path) -> None:
    """Whether there is what draws it."""
    if importlib.util.find_spec("matplotlib") is None:
        raise RecordError(
            "a picture as PNG is drawn by matplotlib, which is not installed",
            found=str(file),
            instead=f'pip install "triptych[viz]", or --plot {file.with_suffix(".svg")}, which needs nothing',
        )


def write_png(file: Path, axes: Axes) -> None:
    """The same picture as the SVG."""
    figure: Any = import_late("matplotlib.figure").Figure(figsize=(WIDTH / 100, HEIGHT / 100), dpi=_DOTS_PER_INCH)
    plot = figure.add_subplot()
    plot.set(xscale="log", yscale="log", xlabel=axes.labels[0], ylabel=axes.labels[1])
    for axis, (low, high) in ((plot.xaxis, axes.x), (plot.yaxis, axes.y)):
        powers = whole_powers(low, high)
        axis.set_ticks([10.0**power for power in powers], [power_of_ten(power) for power in powers])
    plot.set_xlim(10.0 ** axes.x[0], 10.0 ** axes.x[1])
    plot.set_ylim(10.0 ** axes.y[0], 10.0 ** axes.y[1])
    plot.grid(color="#e4e4e4")
    for line in axes.lines:
        xs, ys = zip(*line.points, strict=True)
        plot.plot(xs, ys, color=line.colour, linewidth=1.5, marker="o" if line.dots else "", markersize=5)
    for words in axes.words:
        plot.text(*words.point, words.text, color=words.colour, horizontalalignment=_ALIGNED[words.anchor], fontsize=8)
    figure.tight_layout()
    figure.savefig(file)


_SIDES: tuple[Anchor, Anchor] = ("start", "end")
"""Where labels of points stand, in turns: cases of one file often lie close together."""
_COLOURS = ("#1f6f8b", "#c8553d", "#588157", "#7b5ea7", "#946b2d", "#333333")


def roofline(record: dict[str, Any]) -> Axes:
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
    axes = Axes.around(xs, [min(xs[0] * slowest, *(y for _, y in points)), peak], ("flop per byte", "GFLOP/s"))
    for i, level in enumerate(roofs["levels"]):
        rate = level["bandwidth"] / 1e9
        bend = max(peak / rate, xs[0])
        axes.line([(xs[0], xs[0] * rate), (bend, peak)], _COLOURS[i % len(_COLOURS)])
        axes.text((xs[0] * 1.5, xs[0] * rate * 1.1), f"{level['name']} {rate:.0f} GB/s", _COLOURS[i % len(_COLOURS)])
    for name, flops in roofs["flops"].items():
        axes.line([(xs[0], flops / 1e9), (xs[1], flops / 1e9)], "#333333")
        axes.text((xs[0] * 1.05, flops / 1e9 * 1.1), f"{name} {flops / 1e9:.0f} GFLOP/s")
    for i, (case, point) in enumerate(zip(cases, points, strict=True)):
        axes.line([point], "#d00000", dots=True)
        place, anchor = (point[0] * (1 / 1.15 if i % 2 else 1.15), point[1]), _SIDES[i % 2]
        axes.text(place, f"{Path(record['file']).stem} {case['case']}", "#d00000", anchor)
    return axes


def sweep(record: dict[str, Any], name: str) -> Axes:
    """A rate, or else the time of a call, over the parameter of a sweep, hot and cold; and where caches are full."""
    cases = [case for case in record["cases"] if name in case["parameters"] and "hot" in case]
    unit, height = _height_of(cases)
    curves = {
        kind: [(float(case["parameters"][name]), height(case, case[kind]["median"])) for case in cases if kind in case]
        for kind in ("hot", "cold")
    }
    points = [point for curve in curves.values() for point in curve]
    axes = Axes.around([x for x, _ in points], [y for _, y in points], (name, unit))
    for (kind, curve), colour in zip(curves.items(), _COLOURS, strict=False):
        if curve:
            axes.line(curve, colour, dots=True)
            # The lower curve has its name below: where both begin together the names would be one blot.
            lower = any(other and other[0][1] > curve[0][1] for other in curves.values())
            axes.text((curve[0][0], curve[0][1] * (0.8 if lower else 1.1)), kind, colour)
    sizes = [(float(case["parameters"][name]), float(case.get("bytes_touched", 0))) for case in cases]
    for level in record.get("machine", {}).get("caches", ()):
        total = level["bytes"] * level["count"]
        place = _where(sizes, total)
        if place:
            axes.line([(place, 10.0 ** axes.y[0]), (place, 10.0 ** axes.y[1])], "#999999")
            axes.text((place * 1.05, 10.0 ** axes.y[0] * 1.15), f"L{level['level']} {_bytes(total)}", "#666666")
    return axes


def _height_of(cases: Sequence[dict[str, Any]]) -> tuple[str, Callable[[dict[str, Any], float], float]]:
    """What is drawn upwards: bytes or operations of a second where the file says what it moves, else microseconds."""
    works = [case.get("work") for case in cases]
    if not all(works):
        return "µs", lambda case, seconds: seconds * 1e6
    if all(work["flops"] > work["bytes"] for work in works if work):
        return "GFLOP/s", lambda case, seconds: float(case["work"]["flops"] / seconds / 1e9)
    return "GB/s", lambda case, seconds: float(case["work"]["bytes"] / seconds / 1e9)


def _where(sizes: Sequence[tuple[float, float]], total: float) -> float:
    """The parameter at which so many bytes are touched; 0 if that is outside of the sweep."""
    for (low, fewer), (high, more) in pairwise(sorted(sizes)):
        if 0 < fewer <= total < more:
            return float(low * (high / low) ** (math.log(total / fewer) / math.log(more / fewer)))
    return 0.0


def _bytes(size: float) -> str:
    return f"{size / 2**20:g} MB" if size >= 2**20 else f"{size / 2**10:g} KB"


def check_picture(file: Path) -> None:
    """Whether a picture can be written there: asked before anything is measured."""
    if file.suffix not in (".svg", ".png"):
        raise RecordError(
            f"a picture is an .svg or a .png, not {file.suffix or 'a file without a suffix'}",
            found=str(file),
            instead=str(file.with_suffix(".svg")),
        )
    if file.suffix == ".png":
        check_png(file)


def write_picture(file: Path, axes: Axes) -> None:
    """By the suffix: SVG, which every browser shows and which needs nothing here, or PNG."""
    check_picture(file)
    if file.suffix == ".png":
        write_png(file, axes)
    else:
        file.write_text(axes.svg(), encoding="utf-8")
