"""NVVM intrinsics and inline PTX that the rules of passes build."""

from __future__ import annotations

from collections.abc import Sequence

from triptych.ir.handles import Value
from triptych.ir.rewriting import Replacement


def intrinsic(op: Replacement, name: str, operands: Sequence[Value], result: str | None = None) -> Value | None:
    """Call an intrinsic function of LLVM for NVIDIA's GPUs; what it gives, if it gives something."""
    attributes = op.builder.call_attributes(len(operands), intrin=op.builder.string(f"llvm.nvvm.{name}"))
    if result is None:
        op.effect("llvm.call_intrinsic", operands, attributes)
        return None
    return op.value("llvm.call_intrinsic", operands, result, attributes)


def inline_ptx(op: Replacement, text: str, constraints: str, operands: Sequence[Value]) -> None:
    """Inline PTX that gives nothing and may change any memory."""
    attributes = {
        "asm_string": op.builder.string(text),
        "constraints": op.builder.string(",".join(filter(None, (constraints, "~{memory}")))),
        "has_side_effects": op.attribute("unit"),
    }
    op.effect("llvm.inline_asm", operands, attributes)
