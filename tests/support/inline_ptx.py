"""Inline PTX in a kernel over arrays of bits: the same text for the CPU and, as it is, for the PTX simulator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

import triptych as tt
from triptych import cute
from triptych.cute.arch import inline_ptx
from triptych.frontends.ptx.code import ADDRESS, FLOATS, WIDTHS
from triptych.frontends.ptx.lowerings import meaning
from triptych.frontends.ptx.statements import Instruction

THREADS = 64
NARROW: dict[str, Any] = {"e4m3x2": ml_dtypes.float8_e4m3fn, "e5m2x2": ml_dtypes.float8_e5m2}
"""Pairs in 16 bits, whose NaN have several forms."""
INPUTS = 4
Array = np.ndarray[Any, Any]

SPECIAL = (
    *(0, 1, 2, 7, 31, 32, 33, 63, 64, 65, 255, 256, 0x7F, 0x80, 0x7FFF, 0x8000, 0xFFFF, (1 << 64) - 1, 1 << 63),
    *(0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, (1 << 63) - 1, 0xFFFFFFFF80000000, 0x80007FFF00008001),
    *(0x3F800000, 0xBF800000, 0x7F800000, 0xFF800000, 0x7FC00000, 0x00000001, 0x807FFFFF, 0x00800000, 0x7F7FFFFF),
    *(0x3FF0000000000000, 0xBFF8000000000000, 0x7FF0000000000000, 0xFFF0000000000000, 0x7FF8000000000000),
    *(0x3C003C00, 0x7C00FC00, 0x7E007E00, 0x0001_8001, 0x7BFF_FBFF, 0x3F80_BF80, 0x7F80_FF80, 0x0040_3F81),
    *(0x4F000000, 0xCF000000, 0x4F800000, 0x5F000000, 0xDF000000, 0x3F000000, 0x3FC00000, 0x40200000, 0xBFC00000),
)
"""Ends of ranges, and zeros, ones, infinities, NaN and subnormal numbers of every float, alone and in pairs."""


@dataclass(frozen=True)
class Case:
    """A text and the types of PTX of its results and operands."""

    text: str
    results: tuple[str, ...]
    sources: tuple[str, ...]

    @property
    def constraints(self) -> str:
        return ",".join([*(f"={letter(kind)}" for kind in self.results), *map(letter, self.sources)])


def letter(kind: str) -> str:
    """The register of a type; one of 8 bits is in a wider one."""
    return {"pred": "b", "f32": "f", "f64": "d"}.get(kind) or {8: "h", 16: "h", 32: "r", 64: "l"}[WIDTHS[kind]]


def one_instruction(opcode: str, *constants: str) -> Case:
    """An instruction alone, between registers; constants are its last operands."""
    probe = Instruction(opcode, ("$0", *(f"${i}" for i in range(1, 4)), *constants))
    means = meaning(probe)
    assert ADDRESS not in means.sources
    count = len(means.sources) - len(constants)
    sources = means.sources[:count]
    operands = [f"${i}" for i in range(len(means.results) + count)]
    return Case(f"{opcode} {', '.join([*operands, *constants])};", means.results, sources)


def _number(kind: str) -> type[tt.Numeric]:
    named = {"pred": tt.Boolean, "f32": tt.Float32, "f64": tt.Float64}
    return named.get(kind) or {8: tt.Uint16, 16: tt.Uint16, 32: tt.Uint32, 64: tt.Uint64}[WIDTHS[kind]]


@tt.kernel
def each(cases: tt.Constexpr[Any], inputs: cute.Tensor, out: cute.Tensor) -> None:
    thread, _, _ = cute.arch.thread_idx()
    for n in tt.range_constexpr(len(cases)):
        case = cases[n]
        operands = [taken(inputs[i, thread], kind) for i, kind in enumerate(case.sources)]
        results = inline_ptx(case.text, case.constraints, operands, tuple(_number(kind) for kind in case.results))
        for i, kind in enumerate(case.results):
            out[n, i, thread] = given(results[i], kind)


def taken(bits: Any, kind: str) -> Any:
    """Bits of an array as an operand."""
    if kind == "pred":
        return (bits & 1) != 0
    dtype = _number(kind)
    narrow = bits.to({16: tt.Uint16, 32: tt.Uint32, 64: tt.Uint64}[dtype.width])
    return narrow.bitcast(dtype) if kind in ("f32", "f64") else narrow


def given(number: Any, kind: str) -> Any:
    """A result as bits of an array."""
    if kind in ("f32", "f64"):
        number = number.bitcast({32: tt.Uint32, 64: tt.Uint64}[number.width])
    return number.to(tt.Uint64)


@tt.jit
def launched(cases: tt.Constexpr[Any], inputs: cute.Tensor, out: cute.Tensor) -> None:
    each(cases, inputs, out).launch(grid=1, block=THREADS)


def bits(seed: int) -> Array:
    """Random bits, half of them special ones."""
    random = np.random.default_rng(seed)
    words = random.integers(0, 1 << 64, (INPUTS, THREADS), dtype=np.uint64)
    special = random.choice(np.array(SPECIAL, np.uint64), (INPUTS, THREADS))
    small = words >> random.integers(0, 64, (INPUTS, THREADS), dtype=np.uint64)
    return np.where(random.random((INPUTS, THREADS)) < 0.4, special, np.where(words % 3 == 0, small, words))


def run(cases: tuple[Case, ...], inputs: Array) -> Array:
    """The bits of the results: case, result, thread."""
    out = np.zeros((len(cases), 4, THREADS), np.uint64)
    launched(cases, inputs, out)
    return out


@np.errstate(invalid="ignore")
def numbers(words: Array, kind: str) -> Array:
    """Words of results as numbers: floats as float64, in rows for pairs. NaN that signal are numbers as well."""
    if kind in ("f16x2", "bf16x2", "f32x2"):
        half = np.uint64(WIDTHS[kind] // 2)
        return np.stack(
            [numbers(words & np.uint64((1 << int(half)) - 1), kind[:-2]), numbers(words >> half, kind[:-2])]
        )
    if kind in NARROW:
        return np.stack(
            [(words >> np.uint64(at)).astype(np.uint8).view(NARROW[kind]).astype(np.float64) for at in (0, 8)]
        )
    if kind == "bf16":
        return (words.astype(np.uint32) << np.uint32(16)).view(np.float32).astype(np.float64)
    if kind in FLOATS:
        return words.astype(f"u{WIDTHS[kind] // 8}").view(f"f{WIDTHS[kind] // 8}").astype(np.float64)
    return words & np.uint64((1 << WIDTHS[kind]) - 1)
