"""Pass `lower-print`: each `gpu.printf` becomes a call of its own function that formats and hands the text to Python.

The text goes through `sys.stdout` and not C's stdio, so that it keeps its order with Python's own output and appears
in notebooks and under redirection. The buffer lives in that function, so printing in a loop does not grow the stack.
Python runs while a program prints, and what it raises then ends the program; in a kernel, the launch.
"""

from __future__ import annotations

from triptych.ir.builder import Builder
from triptych.ir.errors import LoweringError
from triptych.ir.handles import Module, Operation, Value
from triptych.ir.location import place_of
from triptych.ir.modules import append_ir, operations_named, text_constant
from triptych.ir.types import type_text
from triptych.targets.cpu.abi.abi import KERNEL_WRITE, KERNEL_WRITE_DECLARATION
from triptych.targets.cpu.abi.kernel_functions import check_status, launch_of
from triptych.targets.cpu.calling.calling_python import WRITE, WRITE_TEXT

PRINTS = frozenset({"gpu.printf"})
_BUFFER = 4096
_VARIADIC_TYPES = ("i32", "i64", "f64", "!llvm.ptr")
"""C promotes narrower variadic arguments and MLIR does not, so the front end widens them, knowing their sign."""

_DECLARATIONS = f"""
{WRITE_TEXT}{KERNEL_WRITE_DECLARATION}
llvm.func @snprintf(!llvm.ptr, i64, !llvm.ptr, ...) -> i32
llvm.func @malloc(i64) -> !llvm.ptr
llvm.func @free(!llvm.ptr)
"""


def lower_print(module: Module) -> None:
    """Replace every `gpu.printf` of the module."""
    printers: list[str] = []
    for number, operation in enumerate(operations_named(module, *PRINTS)):
        name = f"triptych.print{number}"
        _check_types(operation)
        launch = launch_of(operation)
        printers.append(_printer(name, operation, in_kernel=launch is not None))
        _replace_by_call(operation, name, [] if launch is None else [launch])
    if printers:
        append_ir(module, _DECLARATIONS + "".join(printers))


def _check_types(operation: Operation) -> None:
    for operand in operation.operands:
        if type_text(operand.type) not in _VARIADIC_TYPES:
            raise LoweringError(
                "a printed value has a type that C formats do not take",
                span=place_of(operation),
                found=type_text(operand.type),
                expected=f"one of {', '.join(_VARIADIC_TYPES)}",
            )


def _printer(name: str, operation: Operation, *, in_kernel: bool) -> str:
    """Format into a stack buffer; a longer text is formatted again into memory of the size that C asked for."""
    types = [type_text(operand.type) for operand in operation.operands]
    launch = ["%launch: !llvm.ptr"] if in_kernel else []
    parameters = ", ".join([*launch, *(f"%value{i}: {kind}" for i, kind in enumerate(types))])
    write = (
        f"llvm.call @{KERNEL_WRITE}(%launch, {{buffer}}, %length) : (!llvm.ptr, !llvm.ptr, i64) -> i32"
        if in_kernel
        else f"llvm.call @{WRITE}({{buffer}}, %length) : (!llvm.ptr, i64) -> i32"
    )
    values = "".join(f", %value{i}" for i in range(len(types)))
    call = (
        "llvm.call @snprintf({buffer}, {size}, %format" + values + ") vararg(!llvm.func<i32 (ptr, i64, ptr, ...)>)"
        " : (" + ", ".join(["!llvm.ptr", "i64", "!llvm.ptr", *types]) + ") -> i32"
    )
    return (
        text_constant(f"{name}.format", operation.attributes["format"].value)
        + f"""
llvm.func internal @{name}({parameters}) -> i32 attributes {{passthrough = ["noinline", "cold"]}} {{
  %format = llvm.mlir.addressof @{name}.format : !llvm.ptr
  %one = llvm.mlir.constant(1 : i64) : i64
  %room = llvm.mlir.constant({_BUFFER} : i64) : i64
  %stack = llvm.alloca %room x i8 : (i64) -> !llvm.ptr
  %needed = {call.format(buffer="%stack", size="%room")}
  %length = llvm.sext %needed : i32 to i64
  %fits = llvm.icmp "slt" %length, %room : i64
  llvm.cond_br %fits, ^write, ^grow
^write:
  %written = {write.format(buffer="%stack")}
  llvm.return %written : i32
^grow:
  %size = llvm.add %length, %one : i64
  %heap = llvm.call @malloc(%size) : (i64) -> !llvm.ptr
  %again = {call.format(buffer="%heap", size="%size")}
  %written_again = {write.format(buffer="%heap")}
  llvm.call @free(%heap) : (!llvm.ptr) -> ()
  llvm.return %written_again : i32
}}
"""
    )


def _replace_by_call(operation: Operation, name: str, launch: list[Value]) -> None:
    code = Builder(operation.context, operation.location)
    code.insertion = code.before(operation)
    if launch:
        code.call(name, [*launch, *operation.operands], ["i32"])  # the launch notices by itself
    else:
        check_status(code, name, operation.operands)
    operation.erase()
