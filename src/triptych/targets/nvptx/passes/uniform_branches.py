"""Branches that a warp takes together, said to the assembler: `bra.uni`.

Where it must expect that only some lanes of a warp come to a shuffle or a vote, the assembler adds a second way that
calls a function for each, and a call needs many registers. `thread // 32` is the same for a warp, but it does not know.
LLVM has no such branch: the condition goes through inline assembly, which is found again in the PTX.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from triptych.ir import bindings
from triptych.ir.builder import Builder
from triptych.ir.handles import Module, Operation, Value
from triptych.ir.modules import operations_named
from triptych.simt.operations import constant_of, defining_op, dimension, enclosing, producer
from triptych.support.warps import WARP
from triptych.targets.nvptx.analysis.kernels import kernels

TOGETHER = frozenset({f"nvvm.{name}.sync" for name in ("shfl", "vote", "redux", "match", "bar.warp")})
_OF_THE_BLOCK = frozenset({"gpu.block_id", "gpu.block_dim", "gpu.grid_dim"})
_CASTS = frozenset(f"arith.{name}" for name in ("index_cast", "index_castui", "extui", "extsi", "trunci"))
_MARK = "// the same for the warp"
_END = "\n}\n"
_MARKED = re.compile(rf"mov\.pred\s+(%p\d+), %p\d+;\s*{_MARK}")

_NEGATIONS = re.compile(r"not\.pred\s+(%p\d+), (%p\d+);")


# Conditions -----------------------------------------------------------------------------------------------------------
def mark_uniform_branches(module: Module) -> None:
    """Pass `mark-uniform-branches`: mark what decides whether whole warps come to instructions of warps."""
    for kernel in kernels(module):
        conditions = {branch.operands[0] for branch in _branches_around(operations_named(kernel, *TOGETHER))}
        same = _same_for_a_warp(kernel)
        for condition in conditions:
            if defining_op(condition) is not None and same(condition):
                _mark(condition)


def _branches_around(operations: list[Operation]) -> set[Operation]:
    """Every `scf.if` that one of the operations is in."""
    found: set[Operation] = set()
    for operation in operations:
        around = enclosing(operation)
        while around.name != "gpu.func":
            if around.name == "scf.if":
                found.add(around)
            around = enclosing(around)
    return found


def _same_for_a_warp(kernel: Operation) -> Callable[[Value], bool]:
    """Whether all lanes of a warp have the same value, as far as arithmetic on numbers of threads tells."""
    in_lines = "known_block_size" in kernel.attributes and _in_lines(
        *bindings.mlir().DenseI32ArrayAttr(kernel.attributes["known_block_size"])
    )

    known: set[Value] = set()

    def same(value: Value) -> bool:
        seen: set[Value] = set()
        pending = [value]
        while pending:
            found = pending.pop()
            if found in known or found in seen:
                continue
            seen.add(found)
            operation = defining_op(found)
            if operation is None:
                if found.owner != kernel.regions[0].blocks[0]:
                    return False
            elif operation.name in ("arith.divui", "arith.shrui") and _is_thread(operation.operands[0]):
                if not (in_lines and _multiple_of_warp(operation)):
                    return False
            elif operation.name.startswith("arith."):
                pending += operation.operands
            elif operation.name not in _OF_THE_BLOCK:
                return False
        known.update(seen)
        return True

    return same


def _in_lines(x: int, y: int, z: int) -> bool:
    """Whether a warp is 32 threads that differ in x only, the first a multiple of 32."""
    return x % WARP == 0 or (y, z) == (1, 1)


def _is_thread(value: Value) -> bool:
    """Whether it is the number of the thread along x."""
    operation = defining_op(value)
    while operation is not None and operation.name in _CASTS:
        operation = defining_op(operation.operands[0])
    return operation is not None and operation.name == "gpu.thread_id" and dimension(operation) == 0


def _multiple_of_warp(division: Operation) -> bool:
    number = constant_of(division.operands[1])
    return number is not None and (number if division.name == "arith.divui" else 1 << number) % WARP == 0


def _mark(condition: Value) -> None:
    ir = bindings.mlir()
    operation = producer(condition)
    builder = Builder(operation.context)
    uses = [(use.owner, use.operand_number) for use in condition.uses]
    builder.insertion = ir.InsertionPoint.after(operation)
    attributes = {"asm_string": builder.string(f"mov.pred $0, $1; {_MARK}"), "constraints": builder.string("=b,b")}
    marked = builder.value("llvm.inline_asm", (condition,), condition.type, operation.location, attributes)
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
