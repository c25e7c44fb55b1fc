"""Pictures of measurements: a roofline with measured roofs, and time over a parameter."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from triptych.support.forking import import_late
from triptych.workbench.axes import HEIGHT, WIDTH, Anchor, Axes, power_of_ten, whole_powers
from triptych.workbench.errors import RecordError

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
