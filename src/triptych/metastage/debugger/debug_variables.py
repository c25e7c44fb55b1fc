"""Debug variable records: every thread of a kernel stores its variables into an array of its own.

A value is stored again only where it may have changed: in the region where the trace stands, or one of the branches
around it, the same value need not be written twice. Threads that take other ways keep what they had.
"""

from __future__ import annotations

from typing import Any

from triptych.ir.handles import Value
from triptych.ir.types import count_and_element, type_text
from triptych.kernel_ir.dialects.check import CHECK, CHECK_ADDRESS, CHECK_STOP
from triptych.metastage.debugger.frame_values import Number
from triptych.metastage.trace.trace import Region, Trace
from triptych.metastage.values.promotion import TypeInfo
from triptych.metastage.values.scalars import Numeric

_WORD = "i64"
_TABLE = "snapshots of kernels"


class DebugVariables:
    """The array of one kernel. Words belong to paths: a function, a name in it, and parts of its value."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._slots: dict[tuple[Any, ...], int] = {}
        self._count = 0
        self._stored: dict[int, tuple[tuple[Value, ...], Region]] = {}
        self._path: tuple[Any, ...] = ()
        CHECK.load(trace.builder.context)
        self._sized_by, self._array = self._allocate()
        self.begin()

    @classmethod
    def of(cls, trace: Trace) -> DebugVariables:
        """That of the kernel which is being traced."""
        assert trace.kernel is not None, "host code does not stop"
        table = trace.tables[_TABLE]
        if trace.kernel.name not in table:
            table[trace.kernel.name] = cls(trace)
        found: DebugVariables = table[trace.kernel.name]
        return found

    def at(self, *path: object) -> None:
        """What is kept from now on belongs to this path."""
        self._path = path

    # what is kept -----------------------------------------------------------------------------------------------
    def number(self, value: Numeric) -> Number:
        """Keep a number."""
        info, carried = value.info, value.ir_value()
        slot = self._slot(2 if info.width > 64 else 1)
        if not self._is_there(slot, (carried,)):
            self._store(slot, self._words(carried, info), (carried,))
        return Number(slot, info, self._is_everywhere(slot))

    def numbers(self, vector: Value, count: int, info: TypeInfo) -> list[Number]:
        """Keep the elements of a vector, one word each."""
        slot = self._slot(count)
        if not self._is_there(slot, (vector,)):
            words = self._resized(self._bits(vector, info, count), info.width, count)
            self._store(slot, [words], (vector,))
        return [Number(slot + i, info, self._is_everywhere(slot)) for i in range(count)]

    def address(self, pointer: Value) -> int:
        """Keep an address and how the memory behind it lies in the machine: two words."""
        slot = self._slot(2)
        if not self._is_there(slot, (pointer,)):
            word = self._trace.builder.type(_WORD)
            made = self._trace.operation(CHECK_ADDRESS, (pointer,), (word, word))
            self._store(slot, list(made.results), (pointer,))
        return slot

    def stop(self, site: int, switch: int) -> None:
        """The thread can stop here."""
        integer = self._trace.builder.integer
        attributes = {"site": integer(_WORD, site), "switch": integer(_WORD, switch)}
        self._trace.operation(CHECK_STOP, (self._array,), attributes=attributes)

    # words ------------------------------------------------------------------------------------------------------
    def _slot(self, count: int) -> int:
        """The first of `count` words of the path; another value of the same path has words of its own."""
        key, number = (*self._path, count), 0
        while (*key, number) in self._taken:
            number += 1
        self._taken.add((*key, number))
        if (*key, number) not in self._slots:
            self._slots[*key, number] = self._count
            self._count += count
            self._sized_by.attributes["value"] = self._trace.builder.integer("i32", self._count)
        return self._slots[*key, number]

    def begin(self) -> None:
        """Another stop: every path begins again with its first word."""
        self._taken: set[tuple[Any, ...]] = set()

    def _is_there(self, slot: int, values: tuple[Value, ...]) -> bool:
        """Whether every thread that is here has stored just these values, and nothing else since."""
        if slot not in self._stored:
            return False
        stored, where = self._stored[slot]
        region: Region | None = self._trace.region
        while region is not where and region is not None and region.what == "branch":
            region = region.parent
        return region is where and stored == values

    def _is_everywhere(self, slot: int) -> bool:
        assert self._trace.kernel is not None, "host code does not stop"
        return self._stored[slot][1] is self._trace.kernel.region

    def _store(self, slot: int, words: list[Value], values: tuple[Value, ...]) -> None:
        trace = self._trace
        for i, word in enumerate(words):
            trace.operation("llvm.store", (word, self._place(slot + i)), attributes=_aligned(trace))
        self._stored[slot] = values, trace.region

    def _place(self, slot: int) -> Value:
        builder = self._trace.builder
        attributes = {
            "rawConstantIndices": builder.attribute(f"array<i32: {slot}>"),
            "elem_type": builder.type_attribute(_WORD),
        }
        return self._trace.value("llvm.getelementptr", (self._array,), type_text(self._array.type), attributes)

    def _words(self, value: Value, info: TypeInfo) -> list[Value]:
        bits = self._bits(value, info, None)
        if info.width <= 64:
            return [self._resized(bits, info.width, None)]
        trace, kind = self._trace, f"i{info.width}"
        far = trace.value("arith.constant", (), kind, {"value": trace.builder.integer(kind, 64)})
        high = trace.value("arith.shrui", (bits, far), kind)
        return [trace.value("arith.trunci", (part,), _WORD) for part in (bits, high)]

    def _bits(self, value: Value, info: TypeInfo, count: int | None) -> Value:
        """A number, or each element of a vector, as an integer."""
        trace = self._trace
        if info.kind != "float":
            return value
        if info.mlir == "tf32":
            value = trace.value("arith.extf", (value,), _sized("f32", count))
        return trace.value("arith.bitcast", (value,), _sized(f"i{info.width}", count))

    def _resized(self, bits: Value, width: int, count: int | None) -> Value:
        counted = count_and_element(bits.type)
        assert (counted is None) == (count is None), "a slot is a vector where its value is one"
        if width == 64:
            return bits
        return self._trace.value("arith.extui", (bits,), _sized(_WORD, count))

    def _allocate(self) -> tuple[Any, Value]:
        """An array at the start of the kernel; its size grows as the trace goes on."""
        trace = self._trace
        builder, insertion = trace.builder, trace.builder.insertion
        builder.insertion = builder.at_start(trace.entry)
        try:
            size = trace.value("llvm.mlir.constant", (), "i32", {"value": builder.integer("i32", 1)})
            attributes = {"elem_type": builder.type_attribute(_WORD), "alignment": builder.integer("i64", 8)}
            return size.owner, trace.value("llvm.alloca", (size,), "!llvm.ptr", attributes)
        finally:
            builder.insertion = insertion


def _sized(element: str, count: int | None) -> str:
    return element if count is None else f"vector<{count}x{element}>"


def _aligned(trace: Trace) -> dict[str, Any]:
    return {"alignment": trace.builder.integer("i64", 8)}
