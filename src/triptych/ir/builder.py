"""MLIR builder: types, constants, operations and blocks by name, through the cheapest calls the bindings have.

`Operation.create` costs 1.5 to 2.7 us; the generated operation classes cost 6 us and 100 ms of imports.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from triptych.ir import bindings
from triptych.ir.context import context
from triptych.ir.handles import Attribute, Block, Context, InsertionPoint, Location, Module, Operation, Type, Value
from triptych.ir.types import TypeOrText, int_width
from triptych.support.interrupts import interruptible


class Builder:
    """Creates operations of one context at an insertion point that the tracer moves."""

    def __init__(self, existing: Context | None = None) -> None:
        self._ir = bindings.mlir()
        self.context = context() if existing is None else existing
        self._types: dict[str, Type] = {}
        self._vectors: dict[tuple[int, TypeOrText], Type] = {}
        self._integers: dict[tuple[TypeOrText, int], Attribute] = {}
        self._attributes: dict[str, Attribute] = {}
        self._type_attributes: dict[TypeOrText, Attribute] = {}
        self._create: Callable[..., Operation] = self._ir.Operation.create
        self.unknown: Location = self._ir.Location.unknown(context=self.context)
        self.insertion: InsertionPoint | None = None

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

    def dense(self, vector: Type, numbers: Sequence[Attribute]) -> Attribute:
        """The attribute of a vector type that has these numbers, themselves attributes, as its elements."""
        made: Attribute = self._ir.DenseElementsAttr.get(list(numbers), vector)
        return made

    def call(self, count: int, **function: Attribute) -> dict[str, Attribute]:
        """The attributes of a call in LLVM's dialect, `callee=` or `intrin=`, with so many operands."""
        sizes = {"operandSegmentSizes": f"array<i32: {count}, 0>", "op_bundle_sizes": "array<i32>"}
        return {**function, **{name: self.attribute(text) for name, text in sizes.items()}}

    # operations -------------------------------------------------------------------------------------------------
    @interruptible
    def operation(
        self,
        name: str,
        operands: Sequence[Value],
        results: Sequence[Type],
        location: Location,
        attributes: Mapping[str, Attribute] | None = None,
        regions: int = 0,
    ) -> Operation:
        """One operation at the insertion point.

        A sequence other than a tuple or a list, such as `operation.operands`, makes its elements when it is asked: the
        bindings would let go of them before they look at them.
        """
        return self._create(
            name,
            results=tuple(results),
            operands=tuple(operands),
            attributes=attributes,
            regions=regions,
            loc=location,
            ip=self.insertion,
        )

    @interruptible
    def value(
        self,
        name: str,
        operands: Sequence[Value],
        result: Type,
        location: Location,
        attributes: Mapping[str, Attribute] | None = None,
    ) -> Value:
        """The only result of one operation."""
        return self._create(
            name, results=(result,), operands=tuple(operands), attributes=attributes, loc=location, ip=self.insertion
        ).result

    # modules and blocks -----------------------------------------------------------------------------------------
    def module(self, location: Location) -> Module:
        made: Module = self._ir.Module.create(loc=location)
        return made

    def function(
        self, module: Module, name: str, arguments: Sequence[Type], location: Location
    ) -> tuple[Operation, Block]:
        """A `func.func` (its results are set by `finish_function`) and its entry block."""
        self.insertion = self._ir.InsertionPoint(module.body)
        function = self.operation(
            "func.func",
            (),
            (),
            location,
            {"sym_name": self.string(name), "function_type": self._function_type(arguments, ())},
            regions=1,
        )
        return function, function.regions[0].blocks.append(*arguments, arg_locs=[location] * len(arguments))

    def finish_function(self, function: Operation, arguments: Sequence[Type], results: Sequence[Type]) -> None:
        function.attributes["function_type"] = self._function_type(arguments, results)

    def _function_type(self, arguments: Sequence[Type], results: Sequence[Type]) -> Attribute:
        function_type = self._ir.FunctionType.get(list(arguments), list(results), context=self.context)
        made: Attribute = self._ir.TypeAttr.get(function_type, context=self.context)
        return made

    def append_block(self, operation: Operation, region: int, arguments: Sequence[Type], location: Location) -> Block:
        """A new block at the end of the operation's region."""
        return operation.regions[region].blocks.append(*arguments, arg_locs=[location] * len(arguments))

    def at_end(self, block: Block) -> InsertionPoint:
        """The insertion point at the end of `block`."""
        made: InsertionPoint = self._ir.InsertionPoint(block)
        return made

    def at_start(self, block: Block) -> InsertionPoint:
        """The insertion point before the first operation of `block`."""
        made: InsertionPoint = self._ir.InsertionPoint.at_block_begin(block)
        return made

    def behind(self, operation: Operation) -> InsertionPoint:
        """The insertion point behind an operation of a block that others follow."""
        made: InsertionPoint = self._ir.InsertionPoint.after(operation)
        return made

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


def _signed(value: int, width: int) -> int:
    value &= (1 << width) - 1
    return value - (1 << width) if width > 1 and value >> (width - 1) else value
