"""Traits of every operation of a kernel, its effects on other threads: the table that analyses and targets read.

Input: the name of an operation. Output: its `Traits`. An operation without an entry is an error where it is asked
about: to take it for one that does nothing would be wrong code.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from triptych.ir.errors import LoweringError
from triptych.ir.handles import Operation
from triptych.ir.location import place_of
from triptych.kernel_ir.dialects import simt
from triptych.kernel_ir.dialects.check import (
    CHECK_ACCESS,
    CHECK_ADDRESS,
    CHECK_CALL,
    CHECK_COPY,
    CHECK_PLACE,
    CHECK_STOP,
    CHECK_SYNC,
    CHECK_UNSET,
)
from triptych.kernel_ir.dialects.tile import (
    ACQUIRE_MAP,
    GROUP_COMMIT,
    GROUP_FENCE,
    GROUP_MMA,
    GROUP_WAIT,
    LOAD_BOX,
    LOAD_MATRIX,
    MMA,
    PREFETCH_BOX,
    PREFETCH_MAP,
    PUBLISH_MAP,
    RELEASE_MAP,
    REPLACE_MAP,
    STORE_BOX,
    STORE_MATRIX,
    TENSOR_MAP,
)


class Scope(StrEnum):
    """Whom an operation concerns beside the thread that executes it."""

    THREAD = "the thread alone"
    WARP = "the lanes of its warp"
    BLOCK = "the threads of its block"
    CLUSTER = "the threads of its cluster of blocks"
    GRID = "everybody"


class Result(StrEnum):
    """How alike the results of the lanes of a warp are."""

    OF_OPERANDS = "as alike as the operands"
    UNIFORM = "one for the warp, whatever the operands are"
    OF_THE_MOMENT = "one for the lanes of a warp that ask the same at one moment"
    DIVERGENT = "a lane's own, whatever the operands are"


@dataclass(frozen=True, slots=True)
class Traits:
    """One row of the table."""

    scope: Scope = Scope.THREAD
    collective: bool = False
    """Threads of the scope execute it together, or count each other there."""
    suspends: bool = False
    """A thread may wait there for others."""
    reads: bool = False
    """Memory that others may write."""
    writes: bool = False
    """What others read, or it decides when they do."""
    result: Result = Result.OF_OPERANDS
    allocates: bool = False
    """Memory that each thread has for itself."""
    stops: bool = False
    """It may end the kernel."""
    encloses: bool = False
    """Control flow: it does what is inside it."""
    repeatable: bool = True
    """As far as the above allows, it may run again, or not at all."""

    def is_barrier(self) -> bool:
        """Whether threads of a block wait for each other there, or are counted."""
        return self.collective and self.scope is Scope.BLOCK

    def awaits(self) -> bool:
        """Whether a thread may wait there for what others of its block or cluster do, without being counted."""
        return self.suspends and not self.collective and self.scope in (Scope.BLOCK, Scope.CLUSTER)

    def is_of_a_warp(self) -> bool:
        """Whether the lanes of a warp do it together."""
        return self.collective and self.scope is Scope.WARP

    def is_of_each_thread(self) -> bool:
        """Whether nobody can do it for other threads, even where all have the same operands."""
        return self.collective or self.writes or self.allocates or self.stops

    def is_pure(self) -> bool:
        """Whether an operation only computes: it may run once for many threads, again, or not at all."""
        return self.repeatable and not (self.is_of_each_thread() or self.suspends or self.reads or self.encloses)


_COMPUTES = Traits()
_IDENTITY = Traits(result=Result.DIVERGENT)
_MEETING = Traits(Scope.WARP, collective=True, suspends=True, result=Result.DIVERGENT)
_AGREEMENT = Traits(Scope.WARP, collective=True, suspends=True, result=Result.UNIFORM)
_BARRIER = Traits(Scope.BLOCK, collective=True, suspends=True)
_COUNTED = Traits(Scope.CLUSTER, writes=True)
_AWAITS = Traits(Scope.CLUSTER, suspends=True, reads=True, writes=True)
_COPY = Traits(Scope.CLUSTER, reads=True, writes=True)
_LOAD = Traits(Scope.GRID, reads=True)
_STORE = Traits(Scope.GRID, writes=True)
_UPDATE = Traits(Scope.GRID, reads=True, writes=True, result=Result.DIVERGENT)
_ANYTHING = Traits(Scope.GRID, reads=True, writes=True, result=Result.DIVERGENT, repeatable=False)
_MOMENT = Traits(result=Result.UNIFORM, repeatable=False)
_ONCE = Traits(repeatable=False)
_CONTROL = Traits(encloses=True)
_TOLD = Traits(Scope.BLOCK, writes=True, repeatable=False)

TRAITS: dict[str, Traits] = {
    # lanes of a warp
    simt.SHUFFLE: _MEETING,
    simt.MATCH: _MEETING,
    simt.ELECT: _MEETING,
    simt.VOTE: _AGREEMENT,
    simt.REDUCE: _AGREEMENT,
    simt.SYNC_WARP: Traits(Scope.WARP, collective=True, suspends=True),
    MMA: Traits(Scope.WARP, collective=True, reads=True, writes=True),
    LOAD_MATRIX: Traits(Scope.WARP, collective=True, reads=True, result=Result.DIVERGENT),
    STORE_MATRIX: Traits(Scope.WARP, collective=True, writes=True),
    # threads of a block
    "gpu.barrier": _BARRIER,
    simt.BARRIER: _BARRIER,
    simt.BARRIER_ARRIVE: Traits(Scope.BLOCK, collective=True),
    # grids
    simt.AWAIT_PREVIOUS_GRID: Traits(Scope.GRID, suspends=True),
    simt.LAUNCH_DEPENDENTS: Traits(Scope.GRID, repeatable=False),
    # copies that go on by themselves
    simt.ASYNC_COPY: Traits(Scope.BLOCK, reads=True, writes=True),
    simt.ASYNC_COMMIT: _ONCE,
    simt.ASYNC_WAIT: Traits(suspends=True),
    simt.PREFETCH: _ONCE,
    # barriers in shared memory
    **dict.fromkeys(
        (simt.MBARRIER_INIT, simt.MBARRIER_ARRIVE, simt.MBARRIER_EXPECT, simt.MBARRIER_ARRIVE_EXPECT),
        _COUNTED,
    ),
    **dict.fromkeys((simt.MBARRIER_COMPLETE, simt.MBARRIER_FENCE, simt.ASYNC_ARRIVE), _COUNTED),
    simt.MBARRIER_WAIT: _AWAITS,
    simt.MBARRIER_TEST: Traits(Scope.CLUSTER, reads=True, writes=True, result=Result.OF_THE_MOMENT, repeatable=False),
    # copies of boxes, and what orders them
    LOAD_BOX: _COPY,
    STORE_BOX: _COPY,
    PREFETCH_BOX: _ONCE,
    TENSOR_MAP: _ONCE,  # of the host
    PREFETCH_MAP: _ONCE,
    REPLACE_MAP: _STORE,
    RELEASE_MAP: _STORE,
    ACQUIRE_MAP: Traits(Scope.GRID, reads=True, writes=True),
    PUBLISH_MAP: Traits(Scope.GRID, reads=True, writes=True),
    simt.BULK_COMMIT: _ONCE,
    simt.BULK_WAIT: _AWAITS,
    simt.ASYNC_FENCE: Traits(Scope.CLUSTER, writes=True),
    # clusters
    simt.CLUSTER_ARRIVE: _COUNTED,
    simt.CLUSTER_WAIT: _AWAITS,
    simt.CLUSTER_ADDRESS: _COMPUTES,
    simt.STORE_ASYNC: _COPY,
    # products of warpgroups
    GROUP_MMA: Traits(Scope.BLOCK, suspends=True, reads=True, writes=True),
    GROUP_FENCE: _COUNTED,
    GROUP_COMMIT: _COUNTED,
    GROUP_WAIT: _AWAITS,
    simt.SET_REGISTERS: _ONCE,
    # what checkers are told
    CHECK_ACCESS: _TOLD,
    CHECK_SYNC: _TOLD,
    CHECK_PLACE: _TOLD,
    CHECK_UNSET: _TOLD,
    CHECK_CALL: _TOLD,
    CHECK_ADDRESS: Traits(result=Result.DIVERGENT, repeatable=False),
    CHECK_STOP: Traits(Scope.GRID, reads=True, writes=True, repeatable=False),
    CHECK_COPY: Traits(Scope.BLOCK, reads=True, writes=True, repeatable=False),
    # time
    simt.CLOCK: _MOMENT,
    simt.GLOBAL_TIMER: _MOMENT,
    simt.SLEEP: _ONCE,
    simt.DIVISOR: _COMPUTES,
    # which thread this is
    "gpu.thread_id": _IDENTITY,
    "gpu.lane_id": _IDENTITY,
    **dict.fromkeys(("gpu.block_id", "gpu.block_dim", "gpu.grid_dim"), _COMPUTES),
    # memory
    "llvm.load": _LOAD,
    "llvm.store": _STORE,
    "llvm.atomicrmw": _UPDATE,
    "llvm.cmpxchg": _UPDATE,
    "llvm.fence": _STORE,
    "llvm.alloca": Traits(allocates=True, result=Result.DIVERGENT),
    # calls of what is not ours
    "gpu.printf": _STORE,
    "llvm.inline_asm": _ANYTHING,
    "llvm.call": _ANYTHING,
    "func.call": _ANYTHING,
    "llvm.call_intrinsic": _ONCE,  # only those that compute; which one it is an attribute says
    # control flow
    **dict.fromkeys(("scf.for", "scf.if", "scf.while"), _CONTROL),
    **dict.fromkeys(("scf.yield", "scf.condition", "gpu.return"), _ONCE),
    "cf.assert": Traits(stops=True),
    # numbers and addresses
    **dict.fromkeys(
        (
            *("llvm.getelementptr", "llvm.mlir.addressof", "llvm.inttoptr", "llvm.ptrtoint", "llvm.addrspacecast"),
            *("llvm.bitcast", "llvm.mlir.poison", "llvm.mlir.undef", "llvm.mlir.zero", "llvm.mlir.constant"),
            *("llvm.extractvalue", "llvm.trunc", "llvm.zext", "ub.poison"),
        ),
        _COMPUTES,
    ),
    # the operations of `vector` that do not only compute
    **dict.fromkeys(("vector.load", "vector.maskedload", "vector.expandload", "vector.gather"), _LOAD),
    **dict.fromkeys(("vector.store", "vector.maskedstore", "vector.compressstore", "vector.scatter"), _STORE),
    **dict.fromkeys(("vector.transfer_read", "vector.transfer_write", "vector.print"), _ANYTHING),
}
_COMPUTING_DIALECTS = frozenset({"arith", "math", "vector"})
"""All their other operations only compute."""


def is_described(operation: Operation) -> bool:
    """Whether an operation has a row: for those who leave alone what they do not know."""
    return _row(operation) is not None


def _row(operation: Operation) -> Traits | None:
    name = operation.name
    found = TRAITS.get(name)
    return _COMPUTES if found is None and name.partition(".")[0] in _COMPUTING_DIALECTS else found


def traits(operation: Operation) -> Traits:
    """The row of an operation."""
    found = _row(operation)
    if found is None:
        raise LoweringError(
            f"nobody has said what {operation.name} does to other threads",
            span=place_of(operation),
            found=str(operation)[:200],
            expected="an operation with an entry in `triptych.kernel_ir.dialects.traits`",
        )
    return found
