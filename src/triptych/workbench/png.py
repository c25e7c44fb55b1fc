"""Pictures as PNG, drawn by matplotlib, which is installed only where somebody wants it (`triptych[viz]`)."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

from triptych.support.forking import import_late
from triptych.workbench.axes import HEIGHT, WIDTH, Axes, power_of_ten, whole_powers
from triptych.workbench.errors import RecordError

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
