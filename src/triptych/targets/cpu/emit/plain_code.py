"""Operation builder by name: values, constants, comparisons, calls and blocks, all at one location of the source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from triptych.diagnostics.runtime_errors import CompiledCodeError
from triptych.ir.builder import Builder
from triptych.ir.checks import ERROR_ATTRIBUTE, check_attributes
from triptych.ir.handles import Attribute, Block, InsertionPoint, Location, Operation, Value
from triptych.ir.types import TypeOrText
from triptych.targets.cpu.abi.abi import STOPPING
from triptych.targets.cpu.abi.memory_sizes import ALIGNMENT

_PREDICATES = {"eq": 0, "ne": 1, "slt": 2, "sle": 3, "sgt": 4, "sge": 5, "ult": 6, "ule": 7, "ugt": 8, "uge": 9}


class PlainCode:
    """Creates operations at the builder's insertion point, or at MLIR's current one when it has none."""

    def __init__(self, builder: Builder, location: Location) -> None:
        self.builder = builder
        self.location = location
        self._attributes: dict[str, Attribute] = {}

    def attribute(self, text: str) -> Attribute:
        found = self._attributes.get(text)
        if found is None:
            found = self._attributes[text] = self.builder.attribute(text)
        return found

    # operations -------------------------------------------------------------------------------------------------
    def value(
        self, name: str, operands: Sequence[Value], kind: TypeOrText, attributes: Mapping[str, Attribute] | None = None
    ) -> Value:
        return self.builder.value(name, operands, self.builder.type(kind), self.location, attributes)

    def operation(
        self,
        name: str,
        operands: Sequence[Value] = (),
        kinds: Sequence[TypeOrText] = (),
        attributes: Mapping[str, Attribute] | None = None,
        regions: int = 0,
    ) -> Operation:
        results = [self.builder.type(kind) for kind in kinds]
        return self.builder.operation(name, operands, results, self.location, attributes, regions)

    def constant(self, value: int, kind: TypeOrText) -> Value:
        return self.value("arith.constant", (), kind, {"value": self.builder.integer(kind, value)})

    def padded(self, size: Value, alignment: int = ALIGNMENT) -> Value:
        """`memory_sizes.padded` of a number (i64) that is known at run time."""
        more = self.value("arith.addi", (size, self.constant(alignment - 1, "i64")), "i64")
        return self.value("arith.andi", (more, self.constant(-alignment, "i64")), "i64")

    def compare(self, predicate: str, left: Value, right: Value) -> Value:
        return self.compared(predicate, left, right, "i1")

    def compared(self, predicate: str, left: Value, right: Value, kind: TypeOrText) -> Value:
        """A comparison whose result has the type `kind`."""
        number = self.builder.integer("i64", _PREDICATES[predicate])
        return self.value("arith.cmpi", (left, right), kind, {"predicate": number})

    def call(self, callee: str, operands: Sequence[Value], kinds: Sequence[TypeOrText] = ()) -> Operation:
        """A call of a function of the LLVM dialect."""
        attributes = self.builder.call(len(operands), callee=self.attribute(f'@"{callee}"'))
        return self.operation("llvm.call", operands, kinds, attributes)

    def intrinsic(self, name: str, operands: Sequence[Value], kinds: Sequence[TypeOrText] = ()) -> Operation:
        """A call of an intrinsic that LLVM knows by name."""
        attributes = self.builder.call(len(operands), intrin=self.builder.string(name))
        return self.operation("llvm.call_intrinsic", operands, kinds, attributes)

    def check(self, holds: Value, error: type[CompiledCodeError], title: str, **facts: Any) -> None:
        """Raise `error` when the program runs and the condition does not hold."""
        self.operation("cf.assert", (holds,), attributes=check_attributes(self.builder, error, title, **facts))

    def check_status(self, callee: str, operands: Sequence[Value]) -> None:
        """Call a function that gives a status, and leave when it is not zero: the cause is kept already."""
        self.check_zero(self.call(callee, operands, ["i32"]).result)

    def check_zero(self, status: Value) -> None:
        """Leave when a status is not zero."""
        holds = self.compare("eq", status, self.constant(0, "i32"))
        stopping = {"msg": "the cause is kept already", ERROR_ATTRIBUTE: STOPPING}
        attributes = {name: self.builder.string(text) for name, text in stopping.items()}
        self.operation("cf.assert", (holds,), attributes=attributes)

    # regions ----------------------------------------------------------------------------------------------------
    def block(self, operation: Operation, region: int, kinds: Sequence[TypeOrText] = ()) -> Block:
        """A new block of a region."""
        return self.builder.append_block(operation, region, [self.builder.type(k) for k in kinds], self.location)

    def enter(self, block: Block) -> InsertionPoint | None:
        """Write into `block` from now on; gives what to hand to `leave`."""
        before = self.builder.insertion
        self.builder.insertion = self.builder.at_end(block)
        return before

    def leave(self, before: InsertionPoint | None) -> None:
        self.builder.insertion = before
