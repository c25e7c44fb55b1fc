"""Pass `lower-checks`: a check that fails leaves its number where the host looks, and ends its thread.

Input: kernels of branches, whose parameters `lower-threads` has made. Output: the same without `cf.assert`, and a
constant for each check with the name of its error and what the error says; code generation takes those away.
"""

from __future__ import annotations

import re

from triptych.ir import bindings
from triptych.ir.builder import ERROR_ATTRIBUTE, FACTS_ATTRIBUTE, Builder
from triptych.ir.handles import Module, Operation
from triptych.ir.modules import kernels, operations_named, symbols, text_constant
from triptych.kernel_ir.dialects.kernel_operations import body, enclosing

CHECKS = frozenset({"cf.assert"})
_FAILED = -2
"""The parameter, from the end."""
_NAME = "triptych.check"
_CONSTANT = re.compile(rf'^@{_NAME}(\d+) = .*? c"(.*)\\00".*\n', re.MULTILINE)
_BYTE = re.compile(rb"\\([0-9A-F]{2})")


def lower_checks(module: Module) -> None:
    """Number the checks of the module from 1."""
    number = 0
    for kernel in kernels(module):
        for check in operations_named(kernel, *CHECKS):
            number += 1
            _keep_text(kernel, check, number)
            _branch(kernel, check, number)


def _keep_text(kernel: Operation, check: Operation, number: int) -> None:
    said = check.attributes
    facts = said[FACTS_ATTRIBUTE if FACTS_ATTRIBUTE in said else "msg"].value
    error = said[ERROR_ATTRIBUTE].value if ERROR_ATTRIBUTE in said else "AssertionFailedError"
    written = bindings.mlir().Module.parse(text_constant(f"{_NAME}{number}", f"{error}\n{facts}"), kernel.context)
    top = enclosing(kernel).regions[0].blocks[0]
    for constant in symbols(written).values():
        constant.clone(Builder(kernel.context).at_start(top))


def _branch(kernel: Operation, check: Operation, number: int) -> None:
    block, builder = check.block, Builder(kernel.context, check.location)
    rest, failed = block.create_after(), block.region.blocks.append()
    operations = [operation.operation for operation in block.operations]
    for operation in operations[operations.index(check) + 1 :]:
        operation.detach_from_parent()
        rest.append(operation)
    builder.insertion = builder.at_end(failed)
    place = list(body(kernel).arguments)[_FAILED]
    aligned = {"alignment": builder.integer("i64", 4), "ordering": builder.integer("i64", 0)}
    builder.operation("llvm.store", (builder.constant(number, "i32"), place), attributes=aligned)
    builder.operation("gpu.return")
    builder.insertion = builder.at_end(block)
    nothing = {"operandSegmentSizes": builder.attribute("array<i32: 1, 0, 0>")}
    builder.operation("cf.cond_br", (check.operands[0],), attributes=nothing, successors=[rest, failed])
    check.erase()


def take_checks(llvm: str) -> tuple[str, dict[str, str]]:
    """LLVM IR without the constants, and their texts by the numbers of the checks."""
    texts = {number: _unescaped(text) for number, text in _CONSTANT.findall(llvm)}
    return _CONSTANT.sub("", llvm), texts


def _unescaped(text: str) -> str:
    plain = _BYTE.sub(lambda found: bytes([int(found[1], 16)]), text.encode())
    return plain.decode()
