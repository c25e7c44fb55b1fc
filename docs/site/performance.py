"""Performance page, its plots and the measured lines of the README, all written from one file of figures.

`python -m benchmarks.report` measures and calls this; a test compares what is committed with what the figures give.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import geometric_mean
from textwrap import fill
from typing import Any

from docs.site.bar_chart import Chart, number, svg

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/guides/performance.md"
README = ROOT / "README.md"
PICTURES = ROOT / "docs/images/performance"
FIGURES = PICTURES / "figures.json"
MEASURED = re.compile(r"(?<=<!-- measured -->\n).*?(?=\n<!-- end -->)", re.DOTALL)
OURS, REFERENCE, OPENCL = "Triptych", "CuTe DSL", "time / OpenCL"
OTHER_FORMS = ("transposed", "wide")
"""Of a kernel that is measured already."""
Figures = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Section:
    """What the page says of a section before its figures, and how they are drawn."""

    heading: str
    text: str
    title: str
    unit: str = ""
    line: float | None = None
    line_says: str = ""
    limit: float | None = None


_REFERENCE = (
    "The bars of CuTe DSL were measured once, on a quiet machine of the same kind, of the same sources; the command "
    "measures only ours again."
)
SECTIONS = {
    "call-overhead": Section(
        "Calls",
        "Warm calls of a function without a loop, as multiples of what tvm-ffi needs to call the same machine code. "
        "A compiled function can be cheaper than that: its code reads Python's objects itself. Arguments that Python "
        "must take apart first, as dataclasses, cost most.",
        "Warm call, as a multiple of the bare tvm-ffi call",
        unit=" ×",
        line=1.0,
        line_says="bare tvm-ffi call",
        limit=20.0,
    ),
    "tensor-arguments": Section(
        "Tensors as arguments",
        "Processor time of launching an empty kernel with three tensors, and of `from_dlpack`, whose mark is "
        f"`mark_layout_dynamic`. {_REFERENCE}",
        "Tensors as arguments, µs of processor time",
        unit=" µs",
    ),
    "compile-time": Section(
        "Compiling for the CPU, cold and from the store",
        "Processor time. *Whole process* counts from the start of Python to the first result; the other bars count one "
        "`tt.compile`. With an empty store everything is traced, lowered and compiled by LLVM. A later process finds "
        "the machine code in the [store](compiled-once.md). Of saxpy the whole program is stored, so that neither MLIR "
        "nor LLVM is loaded; the examples call constructors while they are traced, so they are traced again.",
        "Compiling for the CPU, seconds of processor time",
        unit=" s",
    ),
    "compile-time-gpu": Section(
        "Compiling for a GPU",
        "Processor time from Python to the cubin of public programs, unchanged, after the first compilation of a "
        f"process, with the store switched off. {_REFERENCE}",
        "From Python to the cubin, warm, seconds of processor time",
        unit=" s",
    ),
    "sass": Section(
        "Instructions of identical sources",
        "Instructions of the cubin, for `sm_80` and `sm_90a`. Fewer are not always faster, and no GPU was timed. "
        f"{_REFERENCE}",
        "SASS instructions of identical sources",
    ),
    "cpu-kernels": Section(
        "Kernels on the CPU",
        "Our time divided by that of NumPy, and by that of the same kernel in OpenCL C under Intel's runtime for CPUs, "
        "which turns threads into vector lanes as well; with indices of 32 or of 64 bits, whichever is faster. Each "
        "system has two threads and runs in turns with the others; a ratio is the median over the rounds. The "
        "transposed and the wide product are other forms of the register-tiled one, and the wide one is the shape that "
        "suits us best: the mean of the README leaves both out. NumPy multiplies matrices by OpenBLAS; its other "
        "functions use one thread.",
        "Our time to theirs, two threads (below 1: we are faster)",
        line=1.0,
        line_says="as fast",
        limit=3.0,
    ),
    "matrix-kernels": Section(
        "Matrix examples against BLAS",
        "The [examples](../../examples/kernels) as they are, of side 1,024. NumPy multiplies by OpenBLAS in f32 also "
        "where our operands are narrower; for attention it is two products and the exponentials between them.",
        "Our time to theirs, two threads (below 1: we are faster)",
        line=1.0,
        line_says="as fast",
        limit=3.0,
    ),
    "checkers": Section(
        "What checkers cost",
        "Processor time of a kernel with checkers compiled into it, as a multiple of the same kernel without, on one "
        "thread: bounds of every access; races and uninitialized reads of shared memory; races of global memory. The "
        "guide to [faults](finding-faults.md) says what each of them finds.",
        "Time with a checker, as a multiple of the release build",
        unit=" ×",
        line=1.0,
        line_says="release build",
    ),
}
_INTRODUCTION = (
    "`python -m benchmarks.report` measures every figure of this page and draws it; with the name of a plot it "
    "measures only that one. All figures are in [one file](../images/performance/figures.json), with which a test "
    "compares this page. Nothing was timed on a GPU: no figure says how fast a kernel runs there. Shorter bars are "
    "better in every plot."
)


def figures() -> Figures:
    """What was measured last, by sections."""
    found: Figures = json.loads(FIGURES.read_text(encoding="utf-8")) if FIGURES.exists() else {}
    return found


def save(found: Figures) -> None:
    FIGURES.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def written(found: Figures) -> Iterator[tuple[Path, str]]:
    """Every file that the figures decide, with its text."""
    for name, section in SECTIONS.items():
        if name in found:
            yield PICTURES / f"{name}.svg", svg(_chart(section, found[name]))
    yield PICTURES / "ratios.svg", svg(ratios_chart(found))
    yield PAGE, page(found)
    yield README, MEASURED.sub(lambda _: sentence(found), README.read_text(encoding="utf-8"))


def write() -> list[Path]:
    """Write them; which they are, from the root of the repository."""
    PICTURES.mkdir(exist_ok=True)
    for path, text in written(figures()):
        path.write_text(text, encoding="utf-8")
    return [path.relative_to(ROOT) for path, _ in written(figures())]


def _chart(section: Section, measured: Mapping[str, Any]) -> Chart:
    return Chart(
        section.title,
        measured["bars"],
        section.unit,
        section.line,
        section.line_says,
        section.limit,
        notes=_provenance(measured),
    )


def _provenance(measured: Mapping[str, Any]) -> list[str]:
    versions = ", ".join(f"{name} {version}" for name, version in measured["versions"].items())
    return [f"{measured['date']}, {measured['machine']}, load {measured['load']}", versions, measured["command"]]


def page(found: Figures) -> str:
    """The whole page."""
    parts = ["# Performance", _filled(_INTRODUCTION)]
    for name, section in SECTIONS.items():
        if name in found:
            parts += [f"## {section.heading}", _filled(section.text)]
            parts.append(f"![{section.title}](../images/performance/{name}.svg)")
            parts.append(f"`{found[name]['command']}` measures and draws it again.")
            parts.append(_table(found[name]["bars"], section.unit))
    return "\n\n".join(parts) + "\n"


def _filled(text: str) -> str:
    return fill(text, 120, break_long_words=False, break_on_hyphens=False)


def _table(bars: Mapping[str, Mapping[str, float]], unit: str) -> str:
    series = list(dict.fromkeys(name for group in bars.values() for name in group))
    lines = [f"| | {' | '.join(series)} |", "|---" * (1 + len(series)) + "|"]
    for name, group in bars.items():
        cells = (f"{number(group[which])}{unit}" if which in group else "" for which in series)
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def ratios(found: Figures) -> dict[str, float]:
    """The three of the README: our cost divided by the other's; a geometric mean where there are several programs."""
    sass = [group[OURS] / group[REFERENCE] for group in found["sass"]["bars"].values()]
    bars = found["cpu-kernels"]["bars"]
    opencl = [group[OPENCL] for name, group in bars.items() if not name.startswith(OTHER_FORMS)]
    return {
        "call of a compiled function / bare tvm-ffi call": found["call-overhead"]["bars"]["compiled(int, float)"][OURS],
        f"SASS instructions / CuTe DSL's, {len(sass)} identical sources": geometric_mean(sass),
        f"time on the CPU / OpenCL's, {len(opencl)} identical kernels": geometric_mean(opencl),
    }


def ratios_chart(found: Figures) -> Chart:
    bars = {name: {OURS: ratio} for name, ratio in ratios(found).items()}
    return Chart("Our cost divided by theirs (below 1: we are cheaper)", bars, line=1.0, line_says="equal")


def sentence(found: Figures) -> str:
    """The three ratios in words, for the README."""
    call, sass, opencl = map(number, ratios(found).values())
    date = max(found[name]["date"] for name in ("call-overhead", "sass", "cpu-kernels"))
    return _filled(
        f"Measured {date}: a compiled call costs {call} of a bare tvm-ffi call; kernels have {sass} of CuTe DSL's SASS "
        f"instructions, and on the CPU {opencl} of the time of Intel's OpenCL. "
        "[How, and where we lose](docs/guides/performance.md)."
    )
