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

from triptych.ir.dialect import AttributeSpec, Dialect, OperationSpec
from triptych.ir.handles import Operation

CHECK_ACCESS = "check.access"
CHECK_SYNC = "check.sync"
CHECK_PLACE = "check.place"
CHECK_COPY = "check.copy"
CHECK_UNSET = "check.unset"
CHECK_CALL = "check.call"
CHECK_ADDRESS = "check.address"
CHECK_STOP = "check.stop"
CHECK_STOPPED = "check.stopped"
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

CHECK = Dialect(
    "check",
    (
        OperationSpec("access", ("T", "U*"), attributes=tuple(map(AttributeSpec, ("size", "kind", "site")))),
        OperationSpec("sync", ("T*",), attributes=(AttributeSpec("what"),)),
        OperationSpec("copy", ("T", "U", "i32"), attributes=tuple(map(AttributeSpec, ("size", "site")))),
        OperationSpec("place", ("T",), attributes=(AttributeSpec("what"),)),
        OperationSpec(
            "call",
            ("i32", "i32"),
            attributes=tuple(map(AttributeSpec, ("call", "pipeline", "kind", "stages", "ring", "groups"))),
        ),
        OperationSpec("unset", ("i32",), attributes=(AttributeSpec("site"),)),
        OperationSpec("address", ("T",), ("i64", "i64")),
        OperationSpec("stop", ("T",), attributes=tuple(map(AttributeSpec, ("site", "switch")))),
        OperationSpec("stopped", ("i64*",), attributes=tuple(map(AttributeSpec, ("site", "switch")))),
    ),
)


def passes_barrier(operation: Operation) -> bool:
    """Whether checkers are told that the block has met; where no warp waits for others, the block tells it once."""
    return operation.name == CHECK_SYNC and int(operation.attributes["what"].value) == PASS_BLOCK
