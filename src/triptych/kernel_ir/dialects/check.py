"""Sanitizer dialect `check`: the events that a kernel reports to checkers. Only debug builds have such operations.

    check.access %address[, %value] {size, kind, site}   a thread is about to access `size` bytes
    check.access %address, %counts... {..., steps}       it is about to read so often, `steps` bytes further each time
    check.sync [%number[, %count]] {what}                threads have met, or are about to
    check.place %address {what}                          an atomic operation there releases, or has acquired

    check.unset %origin {site}                           a value matters that is made of unset registers, unless 0

    check.copy %shared, %global, %bytes {size, site}      a copy begins that goes on by itself

    check.call %stage, %turn {call, pipeline, kind, ...}  a thread is about to use a stage of a pipeline

    check.address %address -> i64, i64                   where its memory lies in the machine, and how
    check.stop %array {site, switch}                     a thread may stop for a debugger, its values in the array
    check.stopped %numbers... {site, switch}             the same for the threads of a warp

A turn is a phase and, of groups that take turns, twice the number of the group. A call has the `stages` of its
pipeline, the `ring` of its state and how many `groups` take turns.
A site is a number: which access of the kernel this is. Kinds and ways to meet are those of the target's checkers.
"""

from __future__ import annotations

from functools import partial

from triptych.ir.handles import Operation
from triptych.kernel_ir.dialects.opdef import INSTRUMENTATION, KernelDialect, OpDef, Result, Scope, Traits

CHECKS_ATTRIBUTE = "triptych.checks"
"""Of a kernel that has such operations: its checkers, the grain of its cells, and the name of its table of sites."""
SITE_ATTRIBUTE = "triptych.site"
"""Of an operation that goes on by itself, or orders such ones, in a kernel whose checkers are told: its site."""

TABLE_ATTRIBUTE = "triptych.table"
"""Of a launch of a kernel with checkers: the name of the kernel's table of sites."""

STEPS_ATTRIBUTE = "steps"
"""Of a `check.access` for many reads: the bytes between them, for each of its counts (`i64`)."""

PASS_BLOCK = 0
"""Of a `check.sync`: behind a barrier of the block."""

CHECK = KernelDialect("check")
_op = partial(OpDef, CHECK)
_STOPS = Traits(Scope.GRID, reads=True, writes=True, repeatable=False)

CHECK_ACCESS = _op("access", operands=("T", "U*"), attributes=("size", "kind", "site"), traits=INSTRUMENTATION)
CHECK_SYNC = _op("sync", operands=("T*",), attributes=("what",), traits=INSTRUMENTATION)
CHECK_COPY = _op(
    "copy",
    operands=("T", "U", "i32"),
    attributes=("size", "site"),
    traits=Traits(Scope.BLOCK, reads=True, writes=True, repeatable=False),
)
CHECK_PLACE = _op("place", operands=("T",), attributes=("what",), traits=INSTRUMENTATION)
CHECK_CALL = _op(
    "call",
    operands=("i32", "i32"),
    attributes=("call", "pipeline", "kind", "stages", "ring", "groups"),
    traits=INSTRUMENTATION,
)
CHECK_UNSET = _op("unset", operands=("i32",), attributes=("site",), traits=INSTRUMENTATION)
CHECK_ADDRESS = _op(
    "address",
    operands=("T",),
    results=("i64", "i64"),
    traits=Traits(result=Result.DIVERGENT, repeatable=False),
)
CHECK_STOP = _op("stop", operands=("T",), attributes=("site", "switch"), traits=_STOPS)
CHECK_STOPPED = _op("stopped", operands=("i64*",), attributes=("site", "switch"), traits=_STOPS)


def passes_barrier(operation: Operation) -> bool:
    """Whether checkers are told that the block has met; where no warp waits for others, the block tells it once."""
    return operation.name == CHECK_SYNC and int(operation.attributes["what"].value) == PASS_BLOCK
