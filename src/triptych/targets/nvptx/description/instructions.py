"""The operations of kernels that are one instruction: how each is written, its name in PTX, which GPUs have it.

One row for each operation of the dialects `simt`, `tile`, `gpu` and `llvm` that kernels are made of, and a further one
for each of its forms that only newer GPUs have.

Loads and stores are of LLVM where nothing is said of them but `volatile`; with hints for caches or an order they are
inline PTX (`lower_cache_hints`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from triptych.ir.handles import Operation
from triptych.ir.types import is_integer
from triptych.kernel_ir.dialects import simt as dialect
from triptych.kernel_ir.dialects.tile import (
    LOAD_MATRIX,
    MMA,
    STORE_MATRIX,
    TENSORMAP_ACQUIRE,
    TENSORMAP_CP_FENCEPROXY,
    TENSORMAP_PREFETCH,
    TENSORMAP_RELEASE,
    TENSORMAP_REPLACE,
    TMA_LOAD,
    TMA_PREFETCH,
    TMA_STORE,
    WGMMA,
    WGMMA_COMMIT,
    WGMMA_FENCE,
    WGMMA_WAIT,
)
from triptych.kernel_ir.dialects.warp_mma import WARP_MMAS


class Emission(StrEnum):
    """What an operation becomes on its way to PTX."""

    OPERATION = "an operation of LLVM"
    INTRINSIC = "an intrinsic function of LLVM"
    INLINE_PTX = "inline PTX"
    CALL = "a call of a function of the device"
    NOTHING = "nothing by itself"


@dataclass(frozen=True, slots=True)
class Instruction:
    """An operation, and the generations of GPUs that have it."""

    operation: str
    emission: Emission
    ptx: str
    """How the instruction, or the directive, begins; empty where there is none."""
    since: int = 0
    specific: bool = False
    """Only architectures whose name ends in `a` have it."""
    last: int | None = None
    """The last generation that has it; None for what all later ones have too."""
    when: Callable[[Operation], bool] | None = None
    """The forms of the operation that the row is about; None for all that no other row is about."""


def _attribute(name: str, *values: str) -> Callable[[Operation], bool]:
    """Whether the text of an attribute, a string or a word of an enumeration, has one of these in it."""

    def holds(operation: Operation) -> bool:
        return name in operation.attributes and any(value in str(operation.attributes[name]) for value in values)

    return holds


_cluster = _attribute("syncscope", '"cluster"')
_of_a_cluster = _attribute("triptych.order", ".cluster")
_of_floats = _attribute("kind", "fmin", "fmax")
_of_bytes = _attribute("instruction", ".b8")
_O, _I, _P, _C, _N = Emission
CACHE, ORDER = "triptych.cache", "triptych.order"
"""What accesses to global memory may say of caches and of other threads."""


def _of_64_bits(operation: Operation) -> bool:
    return is_integer(operation.results[0].type, 64)


def _hinted(operation: Operation) -> bool:
    return any(hint in operation.attributes for hint in (CACHE, ORDER))


MATRICES_SINCE = 80
"""The first GPUs with matrix instructions of the shapes that there are."""


def _newer_matrices() -> tuple[Instruction, ...]:
    """The matrix instructions that came later, each with its whole name."""
    newer = {name: mma.since for name, mma in WARP_MMAS.items() if mma.since > MATRICES_SINCE}
    return tuple(
        Instruction(MMA, _I, mma_in_ptx(name), since=since, when=_attribute("instruction", f'"{name}"'))
        for name, since in newer.items()
    )


def mma_in_ptx(name: str) -> str:
    """A matrix instruction by its name in modules, as PTX writes it."""
    shape, types = name.split(".", 1)
    return f"mma.sync.aligned.{shape}.row.col.{types}"


INSTRUCTIONS = (
    # where a thread is
    Instruction("gpu.block_dim", _I, "%ntid"),
    Instruction("gpu.block_id", _I, "%ctaid"),
    Instruction("gpu.grid_dim", _I, "%nctaid"),
    Instruction("gpu.lane_id", _I, "%laneid"),
    Instruction("gpu.thread_id", _I, "%tid"),
    # functions
    Instruction("gpu.func", _O, ".entry"),
    Instruction("gpu.printf", _C, "vprintf", since=20),
    Instruction("gpu.return", _O, "ret"),
    # barriers
    Instruction("gpu.barrier", _I, "bar.sync"),
    Instruction(dialect.SYNC_WARP, _I, "bar.warp.sync", since=70),
    Instruction(dialect.BARRIER, _I, "bar"),
    Instruction(dialect.BARRIER_ARRIVE, _I, "bar.arrive"),
    # launches that overlap
    Instruction(dialect.AWAIT_PREVIOUS_GRID, _I, "griddepcontrol.wait", since=90),
    Instruction(dialect.LAUNCH_DEPENDENTS, _I, "griddepcontrol.launch_dependents", since=90),
    # the threads of a warp together
    Instruction(dialect.ELECT, _I, "elect.sync", since=90),
    Instruction(dialect.MATCH, _I, "match.any.sync", since=70),
    Instruction(dialect.REDUCE, _I, "redux.sync", since=80),
    Instruction(dialect.REDUCE, _I, "redux.sync", since=100, specific=True, when=_of_floats),
    Instruction(dialect.SHUFFLE, _I, "shfl.sync", since=70),
    Instruction(dialect.VOTE, _I, "vote.sync", since=70),
    # matrices in the registers of a warp
    Instruction(LOAD_MATRIX, _I, "ldmatrix", since=75),
    Instruction(LOAD_MATRIX, _I, "ldmatrix", since=100, specific=True, when=_of_bytes),
    Instruction(STORE_MATRIX, _I, "stmatrix", since=90),
    Instruction(STORE_MATRIX, _I, "stmatrix", since=100, specific=True, when=_of_bytes),
    Instruction(MMA, _I, "mma.sync", since=MATRICES_SINCE),
    *_newer_matrices(),
    # matrices in the registers of a warpgroup
    Instruction(WGMMA, _P, "wgmma.mma_async", since=90, specific=True, last=90),
    Instruction(WGMMA_FENCE, _I, "wgmma.fence", since=90, specific=True, last=90),
    Instruction(WGMMA_COMMIT, _I, "wgmma.commit_group", since=90, specific=True, last=90),
    Instruction(WGMMA_WAIT, _P, "wgmma.wait_group", since=90, specific=True, last=90),
    Instruction(dialect.SET_REGISTERS, _I, "setmaxnreg", since=90, specific=True),
    # barriers in shared memory
    Instruction(dialect.MBARRIER_INIT, _I, "mbarrier.init", since=80),
    Instruction(dialect.MBARRIER_ARRIVE, _I, "mbarrier.arrive", since=90),
    Instruction(dialect.MBARRIER_EXPECT, _I, "mbarrier.expect_tx", since=90),
    Instruction(dialect.MBARRIER_ARRIVE_EXPECT, _I, "mbarrier.arrive.expect_tx", since=90),
    Instruction(dialect.MBARRIER_COMPLETE, _I, "mbarrier.complete_tx", since=90),
    Instruction(dialect.MBARRIER_WAIT, _I, "mbarrier.try_wait", since=90),
    Instruction(dialect.MBARRIER_TEST, _I, "mbarrier.try_wait", since=90),
    Instruction(dialect.MBARRIER_FENCE, _I, "fence.mbarrier_init", since=90),
    Instruction(dialect.ASYNC_ARRIVE, _I, "cp.async.mbarrier.arrive", since=80),
    # copies of boxes
    Instruction(TMA_LOAD, _P, "cp.async.bulk.tensor", since=90),
    Instruction(TMA_STORE, _P, "cp.async.bulk.tensor", since=90),
    Instruction(TMA_PREFETCH, _P, "cp.async.bulk.prefetch.tensor", since=90),
    Instruction(TENSORMAP_PREFETCH, _P, "prefetch.tensormap", since=90),
    Instruction(TENSORMAP_REPLACE, _P, "tensormap.replace", since=90, specific=True),
    Instruction(TENSORMAP_RELEASE, _P, "fence.proxy.tensormap::generic.release", since=90),
    Instruction(TENSORMAP_ACQUIRE, _P, "fence.proxy.tensormap::generic.acquire", since=90),
    Instruction(TENSORMAP_CP_FENCEPROXY, _P, "tensormap.cp_fenceproxy", since=90),
    Instruction(dialect.BULK_COMMIT, _I, "cp.async.bulk.commit_group", since=90),
    Instruction(dialect.BULK_WAIT, _I, "cp.async.bulk.wait_group", since=90),
    Instruction(dialect.ASYNC_FENCE, _I, "fence.proxy.async", since=90),
    # clusters of blocks
    Instruction(dialect.CLUSTER_ARRIVE, _I, "barrier.cluster.arrive", since=90),
    Instruction(dialect.CLUSTER_WAIT, _I, "barrier.cluster.wait", since=90),
    Instruction(dialect.CLUSTER_ADDRESS, _I, "mapa", since=90),
    Instruction(dialect.STORE_ASYNC, _P, "st.async", since=90),
    # copies that go on by themselves
    Instruction(dialect.ASYNC_COMMIT, _I, "cp.async.commit_group", since=80),
    Instruction(dialect.ASYNC_COPY, _I, "cp.async", since=80),
    Instruction(dialect.ASYNC_WAIT, _I, "cp.async.wait_group", since=80),
    Instruction(dialect.PREFETCH, _P, "prefetch", since=20),
    # time
    Instruction(dialect.SLEEP, _I, "nanosleep", since=70),
    Instruction(dialect.CLOCK, _I, "%clock"),
    Instruction(dialect.CLOCK, _I, "%clock64", since=20, when=_of_64_bits),
    Instruction(dialect.GLOBAL_TIMER, _I, "%globaltimer", since=30),
    # memory
    Instruction("llvm.alloca", _O, ".local"),
    Instruction("llvm.atomicrmw", _O, "atom", since=20),
    Instruction("llvm.atomicrmw", _P, "atom", since=90, when=_cluster),
    Instruction("llvm.cmpxchg", _O, "atom", since=20),
    Instruction("llvm.cmpxchg", _O, "atom", since=90, when=_cluster),
    Instruction("llvm.fence", _O, "fence", since=70),
    Instruction("llvm.fence", _O, "fence", since=90, when=_cluster),
    Instruction("llvm.getelementptr", _O, "add"),
    Instruction("llvm.load", _O, "ld"),
    Instruction("llvm.load", _P, "ld", since=70, when=_hinted),
    Instruction("llvm.load", _P, "ld", since=90, when=_of_a_cluster),
    Instruction("llvm.mlir.addressof", _O, "mov"),
    Instruction("llvm.mlir.global", _O, ".shared"),
    Instruction("llvm.store", _O, "st"),
    Instruction("llvm.store", _P, "st", since=70, when=_hinted),
    Instruction("llvm.store", _P, "st", since=90, when=_of_a_cluster),
    # values
    Instruction("llvm.call_intrinsic", _I, ""),
    Instruction("llvm.extractvalue", _N, ""),
    Instruction("llvm.addrspacecast", _O, "cvta"),
    Instruction("llvm.fptosi.sat", _I, "cvt"),
    Instruction("llvm.fptoui.sat", _I, "cvt"),
    Instruction("llvm.inline_asm", _P, ""),
    Instruction("llvm.inttoptr", _N, ""),
    Instruction("llvm.mlir.constant", _O, "mov"),
    Instruction("llvm.mlir.zero", _O, "mov"),
    Instruction("llvm.ptrtoint", _N, ""),
)
