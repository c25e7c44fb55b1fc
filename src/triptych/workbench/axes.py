"""Lines, dots and words over two logarithmic axes, as data, and as SVG, which needs nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Literal, TypeAlias

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
