"""Inline PTX, meanings of `mov`: copies, and registers taken apart and put together."""

from __future__ import annotations

from triptych.frontends.ptx.code import Code, Meaning
from triptych.frontends.ptx.kinds import WIDTHS
from triptych.frontends.ptx.statements import Instruction, listed
from triptych.ir.handles import Value


def move(instruction: Instruction) -> Meaning | None:
    """`mov.kind d, a`, and with braces on one side the parts of a register."""
    if len(instruction.marks) != 1 or len(instruction.operands) != 2:
        return None
    (kind,) = instruction.marks
    if kind not in WIDTHS or "x" in kind or WIDTHS[kind] == 8:
        return None
    sides = [len(listed(side)) if side.startswith("{") else 1 for side in instruction.operands]
    if sides == [1, 1]:
        return Meaning((kind,), (kind,), lambda _, value: value, special=True) if WIDTHS[kind] <= 64 else None
    parts = max(sides)
    if kind[0] != "b" or min(sides) != 1 or parts not in (2, 4) or WIDTHS[kind] // parts < 8:
        return None
    part = f"b{WIDTHS[kind] // parts}"
    if sides[0] == 1:
        return Meaning((kind,), (part,) * parts, _joined)
    return Meaning((part,) * parts, (kind,), lambda code, whole: code.halves(whole, parts))


def _joined(code: Code, *parts: Value) -> Value:
    return code.joined(parts)
