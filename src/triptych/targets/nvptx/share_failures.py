"""Pass `share-failures`: all failing checks of a kernel end in one call of `__assertfail`.

A call needs five arguments in their places, some twenty instructions; a check only has to bring what is its own: the
message and where it stands.
"""

from __future__ import annotations

from typing import Any

from triptych.ir import bindings
from triptych.ir.builder import Builder
from triptych.ir.modules import callee, operations_named
from triptych.targets.nvptx.kernels import kernels

_FAIL = "__assertfail"


def share_failures(module: Any) -> None:
    """Let every call but the first of each kernel jump to a block that makes it."""
    for function in kernels(module, "llvm.func"):
        calls = [call for call in operations_named(function, "llvm.call") if "callee" in call.attributes]
        failing = [call for call in calls if callee(call) == _FAIL]
        if len(failing) > 1:
            _share(function, failing)


def _share(function: Any, calls: list[Any]) -> None:
    ir = bindings.mlir()
    builder = Builder(function.context)
    operands = list(calls[0].operands)
    last = list(function.regions[0].blocks)[-1]
    shared = last.create_after(*(operand.type for operand in operands), arg_locs=[calls[0].location] * len(operands))
    with ir.InsertionPoint(shared):
        call = calls[0].clone()
    for number, argument in enumerate(shared.arguments):
        call.operands[number] = argument
    builder.insertion = ir.InsertionPoint(shared)
    builder.operation("llvm.unreachable", (), (), calls[0].location)
    for failed in calls:
        block, given = failed.operation.block, list(failed.operands)
        end = list(block.operations)[-1].operation
        with failed.location:
            ir.Operation.create("llvm.br", operands=given, successors=[shared], ip=ir.InsertionPoint(end))
        end.erase()
        failed.erase()
