"""Building MLIR: types, constants, operations and blocks by name, through the cheapest calls the bindings have.

`Operation.create` costs 1.5 to 2.7 us; the generated operation classes cost 6 us and 100 ms of imports.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from triptych.ir import bindings
from triptych.ir.context import context
from triptych.support.interrupts import interruptible


class Builder:
    """Creates operations of one context at an insertion point that the tracer moves."""

    def __init__(self, existing: Any = None) -> None:
        self._ir = bindings.mlir()
        self.context = existing or context()
        self._types: dict[str, Any] = {}
        self._integers: dict[tuple[str, int], Any] = {}
        self._create = self._ir.Operation.create
        self.unknown = self._ir.Location.unknown(context=self.context)
        self.insertion: Any = None

    # types and attributes ---------------------------------------------------------------------------------------
    def type(self, text: str) -> Any:
        """The MLIR type written as `text` (`i32`, `f16`, `!llvm.ptr` …)."""
        known = self._types.get(text)
        if known is None:
            known = self._types[text] = self._ir.Type.parse(text, context=self.context)
        return known

    def attribute(self, text: str) -> Any:
        """Any attribute, parsed."""
        return self._ir.Attribute.parse(text, context=self.context)

    def type_attribute(self, text: str) -> Any:
        """The attribute that holds a type."""
        return self._ir.TypeAttr.get(self.type(text), context=self.context)

    def string(self, text: str) -> Any:
        return self._ir.StringAttr.get(text, context=self.context)

    def integer(self, type_text: str, value: int) -> Any:
        """An integer attribute; `value` is taken modulo the width, so the caller has checked that it fits."""
        known = self._integers.get((type_text, value))
        if known is None:
            known = self._integers[type_text, value] = self._integer(type_text, value)
        return known

    def _integer(self, type_text: str, value: int) -> Any:
        width = int(type_text[1:])
        if width > 64:
            return self.attribute(f"{_signed(value, width)} : {type_text}")
        return self._ir.IntegerAttr.get(self.type(type_text), _signed(value, width))

    def float(self, type_text: str, value: float) -> Any:
        return self._ir.FloatAttr.get(self.type(type_text), value, loc=self.unknown)

    def splat(self, vector: Any, number: Any) -> Any:
        """The attribute that has a number, itself an attribute, in every element of a vector type."""
        return self._ir.DenseElementsAttr.get_splat(vector, number)

    def dense(self, vector: Any, numbers: Sequence[Any]) -> Any:
        """The attribute of a vector type that has these numbers, themselves attributes, as its elements."""
        return self._ir.DenseElementsAttr.get(list(numbers), vector)

    def call(self, count: int, **function: Any) -> dict[str, Any]:
        """The attributes of a call in LLVM's dialect, `callee=` or `intrin=`, with so many operands."""
        sizes = {"operandSegmentSizes": f"array<i32: {count}, 0>", "op_bundle_sizes": "array<i32>"}
        return {**function, **{name: self.attribute(text) for name, text in sizes.items()}}

    # operations -------------------------------------------------------------------------------------------------
    @interruptible
    def operation(
        self,
        name: str,
        operands: Sequence[Any],
        results: Sequence[Any],
        location: Any,
        attributes: Mapping[str, Any] | None = None,
        regions: int = 0,
    ) -> Any:
        """One operation at the insertion point."""
        return self._create(
            name,
            results=results,
            operands=operands,
            attributes=attributes,
            regions=regions,
            loc=location,
            ip=self.insertion,
        )

    @interruptible
    def value(
        self,
        name: str,
        operands: Sequence[Any],
        result: Any,
        location: Any,
        attributes: Mapping[str, Any] | None = None,
    ) -> Any:
        """The only result of one operation."""
        return self._create(
            name, results=(result,), operands=operands, attributes=attributes, loc=location, ip=self.insertion
        ).result

    # modules and blocks -----------------------------------------------------------------------------------------
    def module(self, location: Any) -> Any:
        return self._ir.Module.create(loc=location)

    def function(self, module: Any, name: str, arguments: Sequence[Any], location: Any) -> tuple[Any, Any]:
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

    def finish_function(self, function: Any, arguments: Sequence[Any], results: Sequence[Any]) -> None:
        function.attributes["function_type"] = self._function_type(arguments, results)

    def _function_type(self, arguments: Sequence[Any], results: Sequence[Any]) -> Any:
        function_type = self._ir.FunctionType.get(list(arguments), list(results), context=self.context)
        return self._ir.TypeAttr.get(function_type, context=self.context)

    def append_block(self, operation: Any, region: int, arguments: Sequence[Any], location: Any) -> Any:
        """A new block at the end of the operation's region."""
        return operation.regions[region].blocks.append(*arguments, arg_locs=[location] * len(arguments))

    def at_end(self, block: Any) -> Any:
        """The insertion point at the end of `block`."""
        return self._ir.InsertionPoint(block)

    def at_start(self, block: Any) -> Any:
        """The insertion point before the first operation of `block`."""
        return self._ir.InsertionPoint.at_block_begin(block)

    def move_blocks(self, source: Any, destination: Any) -> None:
        """Move the blocks of each region of `source` into the same region of `destination`, then erase `source`."""
        for old, new in zip(source.regions, destination.regions, strict=True):
            for block in list(old.blocks):
                block.append_to(new)
        source.erase()

    def erase_contents(self, block: Any) -> None:
        """Erase every operation of a block that nothing outside it uses, the last first."""
        for operation in reversed(list(block.operations)):
            operation.operation.erase()


def _signed(value: int, width: int) -> int:
    value &= (1 << width) - 1
    return value - (1 << width) if width > 1 and value >> (width - 1) else value
