"""Uniform branches, which a warp takes together, marked for the assembler: `bra.uni`.

Where it must expect that only some lanes of a warp come to a shuffle or a vote, the assembler adds a second way that
calls a function for each, and a call needs many registers. `thread // 32` is the same for a warp, but it does not know.
LLVM has no such branch: the condition goes through inline assembly, which is found again in the PTX.
"""

from __future__ import annotations

import re

from triptych.ir.builder import Builder
from triptych.ir.handles import Module, Operation, Value
from triptych.ir.modules import kernels, operations_named
from triptych.kernel_ir.analysis.uniformity import Shape, UniformityAnalysis
from triptych.kernel_ir.dialects.kernel_operations import (
    defining_op,
    enclosing,
    is_described,
    known_block,
    producer,
    walk,
)
from triptych.kernel_ir.dialects.simt import SIMT
from triptych.targets.nvptx.description.architectures import WARP

TOGETHER = frozenset(operation for operation in SIMT.operations if operation.members is not None)
"""Instructions of whichever lanes a mask names."""
_MARK = "// the same for the warp"
_END = "\n}\n"
_MARKED = re.compile(rf"mov\.pred\s+(%p\d+), %p\d+;\s*{_MARK}")

_NEGATIONS = re.compile(r"not\.pred\s+(%p\d+), (%p\d+);")


# Conditions -----------------------------------------------------------------------------------------------------------
def mark_uniform_branches(module: Module) -> None:
    """Pass `mark-uniform-branches`: mark what decides whether whole warps come to instructions of warps."""
    for kernel in kernels(module):
        branches = _branches_around(operations_named(kernel, *TOGETHER))
        conditions = dict.fromkeys(branch.operands[0] for branch in branches)
        if not conditions or not all(map(is_described, walk(kernel))):
            continue  # what nobody has described may do anything; the branches stay as they are
        analysis = _uniformity(kernel)
        for condition in conditions:
            if defining_op(condition) is not None and analysis.at(condition).uniform:
                _mark(condition)


def _branches_around(operations: list[Operation]) -> dict[Operation, None]:
    """Every `scf.if` that one of the operations is in."""
    found: dict[Operation, None] = {}
    for operation in operations:
        around = enclosing(operation)
        while around.name != "gpu.func":
            if around.name == "scf.if":
                found[around] = None
            around = enclosing(around)
    return found


def _uniformity(kernel: Operation) -> UniformityAnalysis:
    """Lanes may run apart, and each has its private arrays at addresses that mean something only to it."""
    arrays = frozenset(array.results[0] for array in operations_named(kernel, "llvm.alloca"))
    return UniformityAnalysis(kernel, Shape(WARP, known_block(kernel), lockstep=False), by_element=arrays)


def _mark(condition: Value) -> None:
    operation = producer(condition)
    builder = Builder(operation.context)
    uses = [(use.owner, use.operand_number) for use in condition.uses]
    builder.insertion = builder.after(operation)
    attributes = {"asm_string": builder.string(f"mov.pred $0, $1; {_MARK}"), "constraints": builder.string("=b,b")}
    marked = builder.value("llvm.inline_asm", (condition,), condition.type, attributes, location=operation.location)
    for owner, place in uses:
        owner.operands[place] = marked


# Branches -------------------------------------------------------------------------------------------------------------
def make_uniform(ptx: str) -> str:
    """PTX with `bra.uni` where the predicate is a marked one."""
    return _END.join(map(_in_function, ptx.split(_END))) if _MARK in ptx else ptx


def _in_function(ptx: str) -> str:
    """Registers have their names in a function. One that gets other values as well is left alone."""
    marked = {predicate for predicate in _MARKED.findall(ptx) if _is_set_once(predicate, ptx)}
    negated = {negation for negation, predicate in _NEGATIONS.findall(ptx) if predicate in marked}
    for predicate in marked | {negation for negation in negated if _is_set_once(negation, ptx)}:
        ptx = re.sub(rf"(@!?{predicate}\s+bra)(\s)", r"\1.uni\2", ptx)
    return ptx


def _is_set_once(predicate: str, ptx: str) -> bool:
    sets = rf"^\s*(?:@!?%p\d+\s+)?[\w.]+\s+(?:%p\d+\|)?{predicate}[,|]"
    return len(re.findall(sets, ptx, re.MULTILINE)) == 1
