"""Function memory of code that runs warps: arrays, scratch, and the record of a failing thread."""

from __future__ import annotations

from collections.abc import Sequence

from triptych.ir.handles import Attribute, InsertionPoint, Type, Value
from triptych.kernel_ir.dialects.kernel_operations import producer
from triptych.targets.cpu.abi.kernel_functions import FAULT_ATTRIBUTE
from triptych.targets.cpu.abi.memory_sizes import ALIGNMENT
from triptych.targets.cpu.emit.lane_builder import LaneBuilder


def insert_here(code: LaneBuilder) -> InsertionPoint:
    """The insertion point where `code` writes now, for later."""
    return code.before(producer(code.constant(0, "i64")))


class FunctionMemory:
    """Allocates on the stack, at the start of a function, so that no loop makes it grow."""

    def __init__(self, code: LaneBuilder) -> None:
        self._code = code
        self._point = insert_here(code)
        self.fault_record = self.allocate(
            code.type("!llvm.array<4 x i32>"), 1, {FAULT_ATTRIBUTE: code.attribute("unit")}
        )

    def allocate(self, kind: Type, count: int, attributes: dict[str, Attribute] | None = None) -> Value:
        """Room for `count` values, for as long as the function runs."""
        code = self._code
        before, code.insertion = code.insertion, self._point
        made = code.value(
            "llvm.alloca",
            (code.constant(count, "i64"),),
            "!llvm.ptr",
            {
                "elem_type": code.type_attribute(kind),
                "alignment": code.integer("i64", ALIGNMENT),
                **(attributes or {}),
            },
        )
        code.insertion = before
        return made

    def write_fault(self, block_ids: Sequence[Value], thread: Value) -> None:
        """Write down the thread that is about to fail a check."""
        for i, value in enumerate([*block_ids, thread]):
            self._code.store(value, self._code.offset(self.fault_record, i, "i32"), 4)
