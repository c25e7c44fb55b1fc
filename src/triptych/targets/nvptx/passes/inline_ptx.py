"""Passes `check-inline-ptx`, `size-inline-addresses`: constraints of inline PTX that LLVM reads."""

from __future__ import annotations

import re

from triptych.ir.builder import builder_before
from triptych.ir.errors import LoweringError
from triptych.ir.handles import Module, Operation
from triptych.ir.location import place_of
from triptych.ir.modules import kernels, operations_named
from triptych.ir.types import CLUSTER_SPACE, SHARED_SPACE, is_struct, memory_space

# Pass `check-inline-ptx`: the constraints of inline PTX are ones that LLVM can read and NVIDIA's registers fit.
#
# LLVM ends the process, this one or its worker, for constraints that it does not understand.

_REGISTERS = {"b": "1", "h": "16", "c": "16", "r": "32", "l": "64", "q": "128", "f": "f32", "d": "f64"}
_OUTPUT = re.compile(rf"=&?[{''.join(_REGISTERS)}]")
_INPUT = re.compile(rf"[{''.join(_REGISTERS)}ni]|\d+")
_CLOBBER = re.compile(r"~\{\w+\}")
INLINE = frozenset({"llvm.inline_asm"})


def check_inline_ptx(module: Module) -> None:
    """Refuse what does not fit, at the line of the user."""
    for kernel in kernels(module):
        for operation in operations_named(kernel, *INLINE):
            _check(operation)


def _check(operation: Operation) -> None:
    text = operation.attributes["constraints"].value
    constraints = [part for part in text.split(",") if part]
    outputs = [part for part in constraints if part.startswith("=")]
    inputs = [part for part in constraints if not part.startswith(("=", "~"))]
    clobbers = [part for part in constraints if part.startswith("~")]
    forms = [(_OUTPUT, part) for part in outputs]
    forms += [(_INPUT, part) for part in inputs]
    forms += [(_CLOBBER, part) for part in clobbers]
    for form, part in forms:
        if form.fullmatch(part) is None:
            letters = ", ".join(f"{letter} ({kind})" for letter, kind in _REGISTERS.items())
            expected = f"`=` and a letter, or a letter: {letters}, n or i (constant)"
            raise _refused(operation, f"{part!r} in {text!r}", expected)
    found = f"{len(outputs)} outputs and {len(inputs)} inputs in {text!r}"
    expected = f"{_results(operation)} outputs and {len(operation.operands)} inputs"
    if found != f"{expected} in {text!r}" or constraints != outputs + inputs + clobbers:
        raise _refused(operation, found, f"{expected}, in this order")


def _results(operation: Operation) -> int:
    """How many values the PTX gives: several come as a struct."""
    if not operation.results:
        return 0
    result = operation.results[0].type
    return len(result.body) if is_struct(result) else 1


def _refused(operation: Operation, found: str, expected: str) -> LoweringError:
    return LoweringError(
        "the constraints of inline PTX do not fit", span=place_of(operation), found=found, expected=expected
    )


# Pass `size-inline-addresses`: inline PTX gets an address in a register of the size that it names.
#
# Addresses of shared memory have 32 bits in generated code, and whoever wrote PTX may have asked for 64: LLVM would
# leave the upper half undefined.

_INTEGERS = {"l": "i64", "r": "i32"}


def size_inline_addresses(module: Module) -> None:
    """Hand over every address of shared memory as an integer."""
    for kernel in kernels(module, "llvm.func"):
        for operation in operations_named(kernel, *INLINE):
            _size_addresses(operation)


def _size_addresses(operation: Operation) -> None:
    constraints = operation.attributes["constraints"].value.split(",")
    letters = [letter for letter in constraints if letter and not letter.startswith(("=", "~"))]
    for place, (letter, operand) in enumerate(zip(letters, list(operation.operands), strict=True)):
        if letter in _INTEGERS and memory_space(operand.type) in (SHARED_SPACE, CLUSTER_SPACE):
            builder = builder_before(operation)
            kind = builder.type(_INTEGERS[letter])
            operation.operands[place] = builder.value("llvm.ptrtoint", (operand,), kind, location=operation.location)
