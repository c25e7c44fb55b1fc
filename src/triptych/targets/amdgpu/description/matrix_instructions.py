"""LLVM's intrinsics for the matrix instructions of AMD: their names, their operands, and what a chip lacks.

Input: an entry of `WAVE_MMAS`. Output: how LLVM calls it. LLVM ends its process for an instruction that the chip does
not have, so `problem` tells before.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from triptych.kernel_ir.dialects.mma import WIDTHS
from triptych.kernel_ir.dialects.wave_mma import MFMA, WAVE_MMAS, WMMA3, WaveMma
from triptych.layout import size
from triptych.support.dataclass import dataclass
from triptych.targets.amdgpu.description.chips import Chip

_WORDS = {"s32": "i32", "s8": "i8", "u8": "i8", "tf32": "xf32"}
_WORDS |= {f"e4m3{flavour}": "fp8" for flavour in ("", "fnuz")} | {f"e5m2{flavour}": "bf8" for flavour in ("", "fnuz")}
"""LLVM's words for types, where they are not ours."""
_FIRST = "gfx90a"
"""Instructions that this chip has are named in an older way."""


@dataclass(frozen=True, slots=True)
class MatrixInstruction:
    """How LLVM calls an instruction."""

    intrinsic: str
    isa: str
    """The instruction; older assemblers leave out the underscore in front of the types."""
    a: str
    b: str
    sums: str
    """Types of the operands, as MLIR writes them."""
    signs: tuple[bool, bool] | None = None
    """Whether A and B have a sign, where the call says so in front of each."""
    flags: int = 0
    """Zeros of 32 bits behind the operands."""


def _instruction(entry: WaveMma) -> MatrixInstruction:
    m, n, k = entry.shape_mnk
    shape, to = f"{m}x{n}x{k}", _word(entry.accumulator)
    sums = f"vector<{_values(entry, 'c')}x{to}>"
    a, b = (_operand_type(entry, side) for side in "ab")
    if entry.family != MFMA:
        kind = f"{to}.{shape}.{_wmma_kind(entry)}"
        overloads = ".".join(_overload(each) for each in (sums, a))
        signs = (entry.a == "s8", entry.b == "s8") if entry.accumulator == "s32" else None
        isa = f"v_wmma_{kind.replace('.', '_')}"
        return MatrixInstruction(f"llvm.amdgcn.wmma.{kind}.{overloads}", isa, a, b, sums, signs)
    old, kind = _FIRST in entry.chips, _word(entry.a)
    types = f"{kind}.{_word(entry.b)}" if kind in ("fp8", "bf8") else kind
    name = f"{shape}{types}{'.1k' if kind == 'bf16' else ''}" if old else f"{shape}.{types}"
    isa = f"v_mfma_{to}_{shape}_{types.replace('.', '_')}"
    return MatrixInstruction(f"llvm.amdgcn.mfma.{to}.{name}", isa, a, b, sums, flags=3)


def _word(kind: str) -> str:
    return _WORDS.get(kind, kind)


def _wmma_kind(entry: WaveMma) -> str:
    if entry.accumulator == "s32":
        return "iu8"
    words = _word(entry.a), _word(entry.b)
    return ".".join(words) if words[0] in ("fp8", "bf8") else words[0]


def _values(entry: WaveMma, operand: str) -> int:
    """How many numbers a thread has."""
    count = size({"a": entry.tv_a, "b": entry.tv_b, "c": entry.tv_c}[operand], [1])
    assert isinstance(count, int), "layouts of instructions are static"
    return count


def _operand_type(entry: WaveMma, operand: str) -> str:
    """The type of A or B: elements where LLVM has such, and words of bits otherwise."""
    kind, count = {"a": entry.a, "b": entry.b}[operand], _values(entry, operand)
    if WIDTHS[kind] == 8:
        words = count // 4
        if entry.family == MFMA and words <= 2:
            return f"i{32 * words}"
        return f"vector<{words}xi32>"
    as_bits = kind == "bf16" and (entry.family != MFMA or _FIRST in entry.chips)
    element = "i16" if as_bits else "f32" if kind == "tf32" else kind
    return element if count == 1 else f"vector<{count}x{element}>"


def _overload(kind: str) -> str:
    """v8f32 of vector<8xf32>."""
    return "v" + kind.removeprefix("vector<").removesuffix(">").replace("x", "")


MATRIX_INSTRUCTIONS: Mapping[str, MatrixInstruction] = MappingProxyType(
    {name: _instruction(entry) for name, entry in WAVE_MMAS.items()}
)
"""By the name that modules have for them."""
_CHIPS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        intrinsic: frozenset(
            chip
            for name, each in MATRIX_INSTRUCTIONS.items()
            if each.intrinsic == intrinsic
            for chip in WAVE_MMAS[name].chips
        )
        for intrinsic in {each.intrinsic for each in MATRIX_INSTRUCTIONS.values()}
    }
)


def may_multiply(intrinsic: str, chip: Chip) -> bool:
    """Whether an intrinsic is a matrix instruction that the chip has."""
    return chip.name in _CHIPS.get(intrinsic, ())


_NAMES = {
    "f64": "Float64",
    "f32": "Float32",
    "tf32": "TFloat32",
    "f16": "Float16",
    "bf16": "BFloat16",
    "s8": "Int8",
    "u8": "Uint8",
    "e4m3": "Float8E4M3FN",
    "e5m2": "Float8E5M2",
    "e4m3fnuz": "Float8E4M3FNUZ",
    "e5m2fnuz": "Float8E5M2FNUZ",
}
"""Types as programs write them."""


def written(entry: WaveMma) -> str:
    """An instruction as programs ask for it."""
    m, n, k = entry.shape_mnk
    other = "" if entry.a == entry.b else f", b_dtype={_NAMES[entry.b]}"
    if entry.family == MFMA:
        return f"amdgpu.MFMA({m}, {n}, {k}, {_NAMES[entry.a]}{other})"
    generation = ", generation=11" if entry.family == WMMA3 else ""
    return f"amdgpu.WMMA({m}, {n}, {k}, {_NAMES[entry.a]}{generation}{other})"


def problem(entry: WaveMma, chip: Chip) -> tuple[str, str] | None:
    """Why a chip does not have an instruction, and what to write instead; None where it has it."""
    if chip.name in entry.chips:
        return None
    has = [each for each in WAVE_MMAS.values() if chip.name in each.chips]
    same = [each for each in has if (each.a, each.b) == (entry.a, entry.b)]
    if same:
        return f"multiplies {_NAMES[entry.a]} in other shapes", " or ".join(map(written, same))
    other = tuple(kind.removesuffix("fnuz") if "fnuz" in kind else f"{kind}fnuz" for kind in (entry.a, entry.b))
    flavoured = [each for each in has if (each.a, each.b) == other]
    if flavoured:
        why = f"multiplies another kind of floats of 8 bits, {_NAMES[other[0]]} in place of {_NAMES[entry.a]}"
        return why, " or ".join(map(written, flavoured))
    every = ", ".join(dict.fromkeys(_NAMES[each.a] for each in has))
    return f"has no matrix instruction for {_NAMES[entry.a]}", f"factors of {every}"
