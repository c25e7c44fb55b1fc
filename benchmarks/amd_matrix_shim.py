"""AMD's matrix instructions as functions on sub-groups of OpenCL, by the layouts that AMD's calculator tells.

Input: an intrinsic of `llvm.amdgcn.mfma` or `wmma`. Output: LLVM IR of a function that does the same by shuffles of 32
bits. Who holds what is read from the stored tables, not from ours.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from triptych.kernel_ir.dialects.wave_mma import WAVE_MMAS, WaveMma
from triptych.targets.amdgpu.description.matrix_instructions import MATRIX_INSTRUCTIONS

TABLES = Path(__file__).parents[1] / "tests" / "conformance" / "amd_matrix_layouts.json"
_SHUFFLE = "call spir_func i32 @_Z17sub_group_shuffleij"


@cache
def _told() -> Any:
    return json.loads(TABLES.read_text(encoding="utf-8"))


def is_matrix(name: str) -> bool:
    """Whether there is a function for an intrinsic, `amdgcn.mfma...`."""
    return _entry(name) is not None


def _entry(name: str) -> WaveMma | None:
    found = (key for key, each in MATRIX_INSTRUCTIONS.items() if each.intrinsic == f"llvm.{name}")
    told = (WAVE_MMAS[key] for key in found if key in _told()["instructions"])
    return next((entry for entry in told if entry.a in ("f16", "bf16", "f32", "s8")), None)


def matrix_function(name: str) -> str:
    """The function `shim.amdgcn...` and the tables that it reads."""
    entry = _entry(name)
    assert entry is not None, name
    called = MATRIX_INSTRUCTIONS[entry.name]
    a, b, sums = (_in_llvm(kind) for kind in (called.a, called.b, called.sums))
    parameters = f"{a} %a, {b} %b, {sums} %c, i32 %x, i32 %y, i32 %z"
    if called.signs is not None:
        parameters = f"i1 %x, {a} %a, i1 %y, {b} %b, {sums} %c, i1 %z"
    elif not called.flags:
        parameters = f"{a} %a, {b} %b, {sums} %c"
    lines = "\n".join(f"  {line}" for line in _lines(entry, a, b, sums))
    tables = "\n".join(_table(f"{name}.{side}", rows) for side, rows in _lanes(entry).items())
    return f"{tables}\ndefine internal {sums} @shim.{name}({parameters}) #900 {{\n{lines}\n}}\n"


def _in_llvm(kind: str) -> str:
    """MLIR's vector<4xf16> as <4 x half>."""
    words = {"f16": "half", "f32": "float", "bf16": "bfloat"}
    found = re.fullmatch(r"vector<(\d+)x(\w+)>", kind)
    return words.get(kind, kind) if found is None else f"<{found[1]} x {words.get(found[2], found[2])}>"


def _rows(entry: WaveMma, operand: int) -> list[list[int]]:
    """The numbers of each value over the lanes."""
    flat = _told()["tables"][_told()["instructions"][entry.name][operand]]
    values = len(flat) // entry.threads
    return [flat[value::values] for value in range(values)]


def _lanes(entry: WaveMma) -> dict[str, list[list[int]]]:
    """For each sum and each k the lane that holds the factor; it is the same value of every lane."""
    (m, n, k), sums = entry.shape_mnk, _rows(entry, 3)
    found: dict[str, list[list[int]]] = {}
    for operand, side, extent in ((1, "a", m), (2, "b", n)):
        where = {number: lane for row in _rows(entry, operand) for lane, number in reversed(list(enumerate(row)))}
        found[side] = [
            [where[(number % m if side == "a" else number // m) + extent * depth] for number in row]
            for row in sums
            for depth in range(k)
        ]
    return found


def _value_of(entry: WaveMma, operand: int, depth: int) -> int:
    """Which value of its lane a factor of some k is."""
    extent = entry.shape_mnk[operand - 1]
    (value,) = {i for i, row in enumerate(_rows(entry, operand)) for number in row if number // extent == depth}
    return value


def _table(name: str, rows: Sequence[Sequence[int]]) -> str:
    numbers = ", ".join(f"i32 {lane}" for row in rows for lane in row)
    return f"@lanes.{name} = internal addrspace(2) constant [{sum(map(len, rows))} x i32] [{numbers}]"


def _lines(entry: WaveMma, a: str, b: str, sums: str) -> Iterator[str]:
    yield "%lane = call spir_func i32 @_Z22get_sub_group_local_idv()"
    for side, kind, operand in (("a", a, 1), ("b", b, 2)):
        for value in range(len(_rows(entry, operand))):
            yield from _as_bits(entry, side, kind, value)
    name, depth, count = _name(entry), entry.shape_mnk[2], len(_rows(entry, 3))
    element = "i32" if entry.accumulator == "s32" else "float"
    for value in range(count):
        yield f"%t{value}_0 = extractelement {sums} %c, i32 {value}"
        for k in range(depth):
            at = f"{value}_{k}"
            for side, operand in (("a", 1), ("b", 2)):
                table = f"[{count * depth * entry.threads} x i32]"
                yield f"%i{side}{at} = add i32 %lane, {(value * depth + k) * entry.threads}"
                place = f"ptr addrspace(2) @lanes.{name}.{side}, i32 0, i32 %i{side}{at}"
                yield f"%p{side}{at} = getelementptr {table}, {place}"
                yield f"%l{side}{at} = load i32, ptr addrspace(2) %p{side}{at}"
                held = f"%{side}bits{_value_of(entry, operand, k)}"
                yield f"%s{side}{at} = {_SHUFFLE}(i32 {held}, i32 %l{side}{at})"
                yield f"%f{side}{at} = bitcast i32 %s{side}{at} to {element}"
            multiply, add = ("mul", "add") if element == "i32" else ("fmul", "fadd")
            yield f"%m{at} = {multiply} {element} %fa{at}, %fb{at}"
            yield f"%t{value}_{k + 1} = {add} {element} %t{at}, %m{at}"
        before = "poison" if value == 0 else f"%r{value - 1}"
        yield f"%r{value} = insertelement {sums} {before}, {element} %t{value}_{depth}, i32 {value}"
    yield f"ret {sums} %r{count - 1}"


def _name(entry: WaveMma) -> str:
    return MATRIX_INSTRUCTIONS[entry.name].intrinsic.removeprefix("llvm.")


def _as_bits(entry: WaveMma, side: str, kind: str, value: int) -> Iterator[str]:
    """A factor as the bits of a Float32, or as an Int32."""
    made, given = f"%{side}bits{value}", f"%{side}"
    if entry.a == "s8":
        bits = kind if kind.startswith("i") else f"i{8 * len(_rows(entry, 1))}"
        if value == 0:
            yield f"{given}whole = bitcast {kind} {given} to {bits}"
        yield f"{made}w = lshr {bits} {given}whole, {8 * value}"
        yield f"{made}b = trunc {bits} {made}w to i8"
        yield f"{made} = sext i8 {made}b to i32"
        return
    element = kind.rpartition(" x ")[2].rstrip(">")
    held = given
    if kind.startswith("<"):
        held = f"{made}e"
        yield f"{held} = extractelement {kind} {given}, i32 {value}"
    if element == "i16":
        yield f"{made}x = zext i16 {held} to i32"
        yield f"{made} = shl i32 {made}x, 16"
        return
    if element == "half":
        yield f"{made}f = fpext half {held} to float"
        held = f"{made}f"
    yield f"{made} = bitcast float {held} to i32"
