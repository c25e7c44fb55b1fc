"""Status of runtime functions: compiled code leaves when one is not zero, since the cause is kept already."""

from __future__ import annotations

from collections.abc import Sequence

from triptych.ir.builder import ERROR_ATTRIBUTE, Builder
from triptych.ir.handles import Value
from triptych.targets.cpu.abi.abi import STOPPING


def check_status(builder: Builder, callee: str, operands: Sequence[Value]) -> None:
    """Call a function that gives a status, and leave when it is not zero."""
    check_zero(builder, builder.call(callee, operands, ["i32"]).result)


def check_zero(builder: Builder, status: Value) -> None:
    """Leave when a status is not zero."""
    holds = builder.compare("eq", status, builder.constant(0, "i32"))
    stopping = {"msg": "the cause is kept already", ERROR_ATTRIBUTE: STOPPING}
    builder.operation("cf.assert", (holds,), attributes={name: builder.string(text) for name, text in stopping.items()})
