"""OpenCL built-in functions, by the names that their parameter types give them, and calls of them.

Input: a kernel in a `gpu.module`. Output: calls, and one declaration of each function in that module.
"""

from __future__ import annotations

from collections.abc import Sequence

from triptych.ir.builder import Builder
from triptych.ir.handles import Operation, Value
from triptych.ir.types import type_text
from triptych.kernel_ir.dialects.kernel_operations import enclosing

_LETTERS = {"i8": "c", "i16": "s", "i32": "i", "i64": "l", "f16": "Dh", "f32": "f", "f64": "d"}
"""How a name says the type of a parameter, by the rules of C++ on Linux."""
_UNSIGNED = "j"

LOCAL_ID, GROUP_ID, GROUPS, LOCAL_SIZE = (
    f"_Z{len(name)}{name}{_UNSIGNED}" for name in ("get_local_id", "get_group_id", "get_num_groups", "get_local_size")
)
BARRIER = "_Z7barrierj"
SUB_GROUP_BARRIER = "_Z17sub_group_barrierj"
BALLOT = "_Z16sub_group_balloti"
LOCAL_AND_GLOBAL = 3
"""Fences of a barrier: what was written to both kinds of memory is seen behind it."""


def shuffle(element: str) -> str:
    """The function that reads the value of another lane."""
    return f"_Z17sub_group_shuffle{_LETTERS[element]}{_UNSIGNED}"


def function_of(name: str, elements: Sequence[str]) -> str:
    """A function of mathematics for these types."""
    repeated = "".join(_LETTERS[element] for element in elements)
    return f"_Z{len(name)}{name}{repeated}"


def call(builder: Builder, kernel: Operation, name: str, operands: Sequence[Value], result: str = "") -> Value | None:
    """Call a function where the builder stands; its result, if it has one."""
    _declare(builder, kernel, name, [type_text(operand.type) for operand in operands], result)
    attributes = builder.call_attributes(len(operands), callee=builder.attribute(f"@{name}"))
    attributes["CConv"] = builder.attribute("#llvm.cconv<spir_funccc>")
    made = builder.operation("llvm.call", operands, [result] if result else [], attributes)
    return made.result if result else None


def value_of(builder: Builder, kernel: Operation, name: str, operands: Sequence[Value], result: str) -> Value:
    """The result of a call."""
    found = call(builder, kernel, name, operands, result)
    assert found is not None, name
    return found


def _declare(builder: Builder, kernel: Operation, name: str, operands: Sequence[str], result: str) -> None:
    top = enclosing(kernel).regions[0].blocks[0]
    if any(_symbol(operation.operation) == name for operation in top.operations):
        return
    before, builder.insertion = builder.insertion, builder.at_start(top)
    kind = builder.attribute(f"!llvm.func<{result or 'void'} ({', '.join(operands)})>")
    attributes = {
        "sym_name": builder.string(name),
        "function_type": kind,
        "linkage": builder.attribute("#llvm.linkage<external>"),
        "CConv": builder.attribute("#llvm.cconv<spir_funccc>"),
        "convergent": builder.attribute("unit"),
        "visibility_": builder.integer("i64", 0),
    }
    builder.operation("llvm.func", attributes=attributes, regions=1, location=builder.unknown)
    builder.insertion = before


def _symbol(operation: Operation) -> str:
    return str(operation.attributes["sym_name"].value) if "sym_name" in operation.attributes else ""
