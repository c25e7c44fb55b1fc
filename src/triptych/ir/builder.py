"""MLIR builder: types, attributes, operations, blocks and insertion points; nothing else creates an operation.

`Operation.create` costs 1.5 to 2.7 us; the generated operation classes cost 6 us and 100 ms of imports.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from triptych.diagnostics.check_errors import pack
from triptych.diagnostics.runtime_errors import CompiledCodeError
from triptych.ir import bindings
from triptych.ir.bindings import context
from triptych.ir.handles import Attribute, Block, Context, InsertionPoint, Location, Module, Operation, Type, Value
from triptych.ir.types import TypeOrText, int_width
from triptych.support.errors import render
from triptych.support.interrupts import interruptible

ERROR_ATTRIBUTE = "triptych.error"
"""Of a run-time check (`cf.assert`): the class of the error, by name."""
FACTS_ATTRIBUTE = "triptych.facts"
"""What the exception of the CPU is made of; `msg` is the picture for people, which a GPU prints."""
_PREDICATES = {"eq": 0, "ne": 1, "slt": 2, "sle": 3, "sgt": 4, "sge": 5, "ult": 6, "ule": 7, "ugt": 8, "uge": 9}
CheckError: TypeAlias = type[CompiledCodeError]


class Builder:
    """Creates operations of one context at an insertion point and at a place of the source, both of which move.

    Types are MLIR types or their texts. Without an insertion point of its own a builder has MLIR's current one.
    """

    def __init__(self, existing: Context | None = None, location: Location | None = None) -> None:
        self._ir = bindings.mlir()
        self.context = context() if existing is None else existing
        self._types: dict[str, Type] = {}
        self._vectors: dict[tuple[int, TypeOrText], Type] = {}
        self._integers: dict[tuple[TypeOrText, int], Attribute] = {}
        self._attributes: dict[str, Attribute] = {}
        self._type_attributes: dict[TypeOrText, Attribute] = {}
        self._create: Callable[..., Operation] = self._ir.Operation.create
        self.unknown: Location = self._ir.Location.unknown(context=self.context)
        self.location: Location = self.unknown if location is None else location
        """Of every operation that is not given another one."""
        self.insertion: InsertionPoint | None = None
        self.enclosing_module: Module | None = None
        """Where formulas that have parts of their own put functions."""

    # types and attributes ---------------------------------------------------------------------------------------
    def type(self, written: TypeOrText) -> Type:
        """The MLIR type written as text (`i32`, `f16`, `!llvm.ptr` …); a type itself."""
        if not isinstance(written, str):
            return written
        known = self._types.get(written)
        if known is None:
            known = self._types[written] = self._ir.Type.parse(written, context=self.context)
        return known

    def vector(self, count: int, element: TypeOrText) -> Type:
        """The type of so many elements."""
        known = self._vectors.get((count, element))
        if known is None:
            made = self._ir.VectorType.get([count], self.type(element), loc=self.unknown)
            known = self._vectors[count, element] = made
        return known

    def attribute(self, text: str) -> Attribute:
        """Any attribute, parsed; once for each text, which takes longer than building an operation."""
        known = self._attributes.get(text)
        if known is None:
            known = self._attributes[text] = self._ir.Attribute.parse(text, context=self.context)
        return known

    def type_attribute(self, written: TypeOrText) -> Attribute:
        """The attribute that holds a type."""
        known = self._type_attributes.get(written)
        if known is None:
            made = self._ir.TypeAttr.get(self.type(written), context=self.context)
            known = self._type_attributes[written] = made
        return known

    def string(self, text: str) -> Attribute:
        made: Attribute = self._ir.StringAttr.get(text, context=self.context)
        return made

    def integer(self, written: TypeOrText, value: int) -> Attribute:
        """An integer attribute; `value` is taken modulo the width, so the caller has checked that it fits."""
        known = self._integers.get((written, value))
        if known is None:
            known = self._integers[written, value] = self._integer(self.type(written), value)
        return known

    def _integer(self, type_: Type, value: int) -> Attribute:
        width = int_width(type_)
        assert width is not None, type_
        if width > 64:
            return self.attribute(f"{_signed(value, width)} : {type_}")
        made: Attribute = self._ir.IntegerAttr.get(type_, _signed(value, width))
        return made

    def integers(self, values: Iterable[int]) -> Attribute:
        """`array<i64: ...>`."""
        text = ", ".join(map(str, values))
        return self.attribute(f"array<i64: {text}>" if text else "array<i64>")

    def float(self, type_text: str, value: float) -> Attribute:
        made: Attribute = self._ir.FloatAttr.get(self.type(type_text), value, loc=self.unknown)
        return made

    def splat(self, vector: Type, number: Attribute) -> Attribute:
        """The attribute that has a number, itself an attribute, in every element of a vector type."""
        made: Attribute = self._ir.DenseElementsAttr.get_splat(vector, number)
        return made

    def splat_number(self, value: Attribute) -> Attribute | None:
        """The number that an attribute of a vector type has in every element; None if they differ."""
        dense = self._ir.DenseElementsAttr(value)
        return dense.get_splat_value() if dense.is_splat else None

    def dense_attribute(self, vector: Type, numbers: Sequence[Attribute]) -> Attribute:
        """The attribute of a vector type that has these numbers, themselves attributes, as its elements."""
        made: Attribute = self._ir.DenseElementsAttr.get(list(numbers), vector)
        return made

    def call_attributes(self, count: int, **function: Attribute) -> dict[str, Attribute]:
        """The attributes of a call in LLVM's dialect, `callee=` or `intrin=`, with so many operands."""
        sizes = {"operandSegmentSizes": f"array<i32: {count}, 0>", "op_bundle_sizes": "array<i32>"}
        return {**function, **{name: self.attribute(text) for name, text in sizes.items()}}

    def check_attributes(self, error: CheckError, title: str, **facts: Any) -> dict[str, Attribute]:
        """The attributes of a run-time check that raises `error`; facts as the error takes them."""
        return {
            "msg": self.string(render(title, error.code, **facts)),
            ERROR_ATTRIBUTE: self.string(error.__name__),
            FACTS_ATTRIBUTE: self.string(pack(title, **facts)),
        }

    # operations -------------------------------------------------------------------------------------------------
    @interruptible
    def operation(
        self,
        name: str,
        operands: Sequence[Value] = (),
        results: Sequence[TypeOrText] = (),
        attributes: Mapping[str, Attribute] | None = None,
        regions: int = 0,
        *,
        location: Location | None = None,
        successors: Sequence[Block] | None = None,
    ) -> Operation:
        """One operation at the insertion point.

        A sequence other than a tuple or a list, such as `operation.operands`, makes its elements when it is asked: the
        bindings would let go of them before they look at them.
        """
        return self._create(
            name,
            results=tuple([self.type(result) if isinstance(result, str) else result for result in results]),
            operands=tuple(operands),
            attributes=attributes,
            successors=successors,
            regions=regions,
            loc=location or self.location,
            ip=self.insertion,
        )

    @interruptible
    def value(
        self,
        name: str,
        operands: Sequence[Value],
        result: TypeOrText,
        attributes: Mapping[str, Attribute] | None = None,
        location: Location | None = None,
    ) -> Value:
        """The only result of one operation."""
        known = self._types.get(result) if isinstance(result, str) else result
        return self._create(
            name,
            results=(self.type(result) if known is None else known,),
            operands=tuple(operands),
            attributes=attributes,
            loc=location or self.location,
            ip=self.insertion,
        ).result

    def constant(self, value: int, kind: TypeOrText) -> Value:
        """An integer, which the caller has checked to fit."""
        return self.value("arith.constant", (), kind, {"value": self.integer(kind, value)})

    def compare(self, predicate: str, left: Value, right: Value, kind: TypeOrText = "i1") -> Value:
        """A comparison of integers (`eq`, `slt`, `ult` …) whose result has the type `kind`."""
        return self.value("arith.cmpi", (left, right), kind, {"predicate": self.integer("i64", _PREDICATES[predicate])})

    def select(self, condition: Value, chosen: Value, other: Value, kind: TypeOrText) -> Value:
        return self.value("arith.select", (condition, chosen, other), kind)

    def resized(self, value: Value, kind: TypeOrText) -> Value:
        """An unsigned integer in another type, which holds it."""
        old, new = (int_width(each) or 0 for each in (value.type, self.type(kind)))
        if old == new:
            return value
        return self.value("arith.extui" if old < new else "arith.trunci", (value,), kind)

    def extract(self, vector: Value, place: int, element: TypeOrText) -> Value:
        """One element of a vector."""
        position = {"static_position": self.attribute(f"array<i64: {place}>")}
        return self.value("vector.extract", (vector,), element, position)

    def call(self, callee: str, operands: Sequence[Value], kinds: Sequence[TypeOrText] = ()) -> Operation:
        """A call of a function of the LLVM dialect."""
        attributes = self.call_attributes(len(operands), callee=self.attribute(f'@"{callee}"'))
        return self.operation("llvm.call", operands, kinds, attributes)

    def intrinsic(self, name: str, operands: Sequence[Value], kinds: Sequence[TypeOrText] = ()) -> Operation:
        """A call of an intrinsic that LLVM knows by name."""
        attributes = self.call_attributes(len(operands), intrin=self.string(name))
        return self.operation("llvm.call_intrinsic", operands, kinds, attributes)

    def check(self, holds: Value, error: CheckError, title: str, **facts: Any) -> None:
        """Raise `error` when the program runs and the condition does not hold."""
        self.operation("cf.assert", (holds,), attributes=self.check_attributes(error, title, **facts))

    # modules and blocks -----------------------------------------------------------------------------------------
    def module(self, location: Location) -> Module:
        made: Module = self._ir.Module.create(loc=location)
        return made

    def function(
        self, module: Module, name: str, arguments: Sequence[Type], location: Location
    ) -> tuple[Operation, Block]:
        """A `func.func` (its results are set by `finish_function`) and its entry block."""
        self.insertion = self.at_end(module.body)
        attributes = {"sym_name": self.string(name), "function_type": self._function_type(arguments, ())}
        function = self.operation("func.func", attributes=attributes, regions=1, location=location)
        return function, function.regions[0].blocks.append(*arguments, arg_locs=[location] * len(arguments))

    def finish_function(self, function: Operation, arguments: Sequence[Type], results: Sequence[Type]) -> None:
        function.attributes["function_type"] = self._function_type(arguments, results)

    def _function_type(self, arguments: Sequence[Type], results: Sequence[Type]) -> Attribute:
        function_type = self._ir.FunctionType.get(list(arguments), list(results), context=self.context)
        made: Attribute = self._ir.TypeAttr.get(function_type, context=self.context)
        return made

    def append_block(
        self, operation: Operation, region: int, kinds: Sequence[TypeOrText] = (), location: Location | None = None
    ) -> Block:
        """A new block at the end of the operation's region."""
        places = [location or self.location] * len(kinds)
        return operation.regions[region].blocks.append(*[self.type(kind) for kind in kinds], arg_locs=places)

    def enter(self, block: Block) -> InsertionPoint | None:
        """Build at the end of `block` from now on; gives what to hand to `leave`."""
        before, self.insertion = self.insertion, self.at_end(block)
        return before

    def leave(self, before: InsertionPoint | None) -> None:
        self.insertion = before

    def at_end(self, block: Block) -> InsertionPoint:
        """The insertion point at the end of `block`."""
        made: InsertionPoint = self._ir.InsertionPoint(block)
        return made

    def at_start(self, block: Block) -> InsertionPoint:
        """The insertion point before the first operation of `block`."""
        made: InsertionPoint = self._ir.InsertionPoint.at_block_begin(block)
        return made

    def before(self, operation: Operation) -> InsertionPoint:
        """The insertion point before an operation."""
        made: InsertionPoint = self._ir.InsertionPoint(operation)
        return made

    def stand_before(self, operation: Operation) -> None:
        """Build before an operation from now on, at its place in the source."""
        self.insertion, self.location = self.before(operation), operation.location

    def after(self, operation: Operation) -> InsertionPoint:
        """The insertion point after an operation of a block that others follow."""
        made: InsertionPoint = self._ir.InsertionPoint.after(operation)
        return made

    def after_value(self, value: Value) -> InsertionPoint:
        """The insertion point from which on a value is there: after what computes it, or where its block starts."""
        owner: Any = value.owner
        return self.at_start(owner) if isinstance(owner, self._ir.Block) else self.after(owner.operation)

    def move_blocks(self, source: Operation, destination: Operation) -> None:
        """Move the blocks of each region of `source` into the same region of `destination`, then erase `source`."""
        for old, new in zip(source.regions, destination.regions, strict=True):
            for block in list(old.blocks):
                block.append_to(new)
        source.erase()

    def erase_contents(self, block: Block) -> None:
        """Erase every operation of a block that nothing outside it uses, the last first."""
        for operation in reversed(list(block.operations)):
            operation.operation.erase()


def builder_before(operation: Operation) -> Builder:
    """A builder that stands before an operation and has its place in the source."""
    builder = Builder(operation.context)
    builder.stand_before(operation)
    return builder


def _signed(value: int, width: int) -> int:
    value &= (1 << width) - 1
    return value - (1 << width) if width > 1 and value >> (width - 1) else value
