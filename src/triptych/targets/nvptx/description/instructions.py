"""The operations of kernels that are one instruction: how each is written, its name in PTX, which GPUs have it.

One row for each operation of the dialects `simt`, `tile`, `gpu` and `llvm` that kernels are made of, and a further one
for each of its forms that only newer GPUs have.

Loads and stores are of LLVM where nothing is said of them but `volatile`; with hints for caches or an order they are
inline PTX (`cache_hints`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum

from triptych.ir.handles import Attribute, Operation
from triptych.ir.types import is_integer
from triptych.kernel_ir.dialects import simt, tile
from triptych.kernel_ir.dialects.matrix_copies import MATRIX_COPIES
from triptych.kernel_ir.dialects.mma import WARP_MMAS
from triptych.support.dataclass import dataclass

Attributes = Mapping[str, Attribute | str]
"""By name: MLIR text, or an attribute of the operation as it is."""


@dataclass(frozen=True, slots=True)
class Nvvm:
    """The operation of MLIR's dialect `nvvm` that one of ours becomes.

    Operands and results stay, except that several results become a struct.
    """

    name: str | Callable[[Operation], str]
    attributes: Callable[[Operation], Attributes] = lambda _: {}


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
    becomes: Nvvm | None = None
    """What `lower-simt` makes of it; None where another pass does."""


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
        Instruction(tile.MMA, _I, mma_in_ptx(name), since=since, when=_attribute("instruction", f'"{name}"'))
        for name, since in newer.items()
    )


def mma_in_ptx(name: str) -> str:
    """A matrix instruction by its name in modules, as PTX writes it."""
    shape, types = name.split(".", 1)
    return f"mma.sync.aligned.{shape}.row.col.{types}"


# attributes of `nvvm` -------------------------------------------------------------------------------------------------
def _kind(enumeration: str) -> Callable[[Operation], Attributes]:
    """The attribute `kind` in a word of NVIDIA's; further ones stay."""

    def attributes(operation: Operation) -> Attributes:
        given = {name: operation.attributes[name] for name in operation.attributes}
        return {**given, "kind": f"#nvvm<{enumeration} {given['kind'].value}>"}

    return attributes


def _always(**texts: str) -> Callable[[Operation], Attributes]:
    return lambda _: dict(texts)


def _clock(operation: Operation) -> str:
    return "nvvm.read.ptx.sreg.clock" + ("64" if is_integer(operation.results[0].type, 64) else "")


def _segments(operation: Operation) -> Attributes:
    return {"operandSegmentSizes": f"array<i32: 1, {len(operation.operands) - 1}>"}


_CACHES = {"all": "ca", "global": "cg"}


def _copied(operation: Operation) -> Attributes:
    cache = _CACHES[operation.attributes["cache"].value]
    return {"size": operation.attributes["size"], "modifier": f"#nvvm<load_cache_modifier {cache}>"}


def _matrices(operation: Operation) -> Attributes:
    """The words of the instruction."""
    copy = MATRIX_COPIES[operation.attributes["instruction"].value]
    m, n = copy.shape
    words = {
        "layout": f"#nvvm.mma_layout<{'col' if copy.transposed else 'row'}>",
        "shape": f"#nvvm.ld_st_matrix_shape<m = {m}, n = {n}>",
        "eltType": f"#nvvm.ld_st_matrix_elt_type<{copy.element}>",
    }
    return {**words, "num": f"{copy.count} : i32"} if copy.is_load else words


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
    Instruction(simt.SYNC_WARP, _I, "bar.warp.sync", since=70, becomes=Nvvm("nvvm.bar.warp.sync")),
    Instruction(simt.BARRIER, _I, "bar", becomes=Nvvm("nvvm.barrier", _segments)),
    Instruction(simt.BARRIER_ARRIVE, _I, "bar.arrive", becomes=Nvvm("nvvm.barrier.arrive")),
    # launches that overlap
    Instruction(
        simt.AWAIT_PREVIOUS_GRID,
        _I,
        "griddepcontrol.wait",
        since=90,
        becomes=Nvvm("nvvm.griddepcontrol", _always(kind="#nvvm<grid_dep_action wait>")),
    ),
    Instruction(
        simt.LAUNCH_DEPENDENTS,
        _I,
        "griddepcontrol.launch_dependents",
        since=90,
        becomes=Nvvm("nvvm.griddepcontrol", _always(kind="#nvvm<grid_dep_action launch_dependents>")),
    ),
    # the threads of a warp together
    Instruction(simt.ELECT, _I, "elect.sync", since=90, becomes=Nvvm("nvvm.elect.sync")),
    Instruction(
        simt.MATCH,
        _I,
        "match.any.sync",
        since=70,
        becomes=Nvvm("nvvm.match.sync", _always(kind="#nvvm<match_sync_kind any>")),
    ),
    Instruction(simt.REDUCE, _I, "redux.sync", since=80, becomes=Nvvm("nvvm.redux.sync", _kind("reduction_kind"))),
    Instruction(simt.REDUCE, _I, "redux.sync", since=100, specific=True, when=_of_floats),
    Instruction(simt.SHUFFLE, _I, "shfl.sync", since=70, becomes=Nvvm("nvvm.shfl.sync", _kind("shfl_kind"))),
    Instruction(simt.VOTE, _I, "vote.sync", since=70, becomes=Nvvm("nvvm.vote.sync", _kind("vote_sync_kind"))),
    # matrices in the registers of a warp
    Instruction(tile.LOAD_MATRIX, _I, "ldmatrix", since=75, becomes=Nvvm("nvvm.ldmatrix", _matrices)),
    Instruction(tile.LOAD_MATRIX, _I, "ldmatrix", since=100, specific=True, when=_of_bytes),
    Instruction(tile.STORE_MATRIX, _I, "stmatrix", since=90, becomes=Nvvm("nvvm.stmatrix", _matrices)),
    Instruction(tile.STORE_MATRIX, _I, "stmatrix", since=100, specific=True, when=_of_bytes),
    Instruction(tile.MMA, _I, "mma.sync", since=MATRICES_SINCE),
    *_newer_matrices(),
    Instruction(tile.MMA_BLOCK_SCALE, _I, "mma.sync", since=120, specific=True, last=121),
    # matrices in the registers of a warpgroup
    Instruction(tile.WGMMA, _P, "wgmma.mma_async", since=90, specific=True, last=90),
    Instruction(tile.WGMMA_FENCE, _I, "wgmma.fence", since=90, specific=True, last=90),
    Instruction(tile.WGMMA_COMMIT, _I, "wgmma.commit_group", since=90, specific=True, last=90),
    Instruction(tile.WGMMA_WAIT, _P, "wgmma.wait_group", since=90, specific=True, last=90),
    # products in tensor memory
    Instruction(tile.UMMA, _I, "tcgen05.mma", since=100, specific=True, last=103),
    Instruction(
        tile.UMMA, _I, "tcgen05.mma", since=103, specific=True, last=103, when=_attribute("instruction", "k96.")
    ),
    Instruction(tile.UMMA_COMMIT, _I, "tcgen05.commit", since=100, specific=True, last=103),
    Instruction(tile.TMEM_ALLOC, _I, "tcgen05.alloc", since=100, specific=True, last=103),
    Instruction(tile.TMEM_DEALLOC, _I, "tcgen05.dealloc", since=100, specific=True, last=103),
    Instruction(tile.TMEM_PERMIT, _I, "tcgen05.relinquish_alloc_permit", since=100, specific=True, last=103),
    Instruction(tile.TMEM_LOAD, _I, "tcgen05.ld", since=100, specific=True, last=103),
    Instruction(tile.TMEM_LOAD_REDUCE, _I, "tcgen05.ld.red", since=103, specific=True, last=103),
    Instruction(tile.TMEM_STORE, _I, "tcgen05.st", since=100, specific=True, last=103),
    Instruction(tile.TMEM_FENCE, _I, "tcgen05.fence", since=100, specific=True, last=103),
    Instruction(tile.TMEM_COPY, _I, "tcgen05.cp", since=100, specific=True, last=103),
    Instruction(tile.TMEM_WAIT, _I, "tcgen05.wait", since=100, specific=True, last=103),
    Instruction(simt.SET_REGISTERS, _I, "setmaxnreg", since=90, specific=True),
    # barriers in shared memory
    Instruction(simt.MBARRIER_INIT, _I, "mbarrier.init", since=80),
    Instruction(simt.MBARRIER_ARRIVE, _I, "mbarrier.arrive", since=90),
    Instruction(simt.MBARRIER_EXPECT, _I, "mbarrier.expect_tx", since=90),
    Instruction(simt.MBARRIER_ARRIVE_EXPECT, _I, "mbarrier.arrive.expect_tx", since=90),
    Instruction(simt.MBARRIER_COMPLETE, _I, "mbarrier.complete_tx", since=90),
    Instruction(simt.MBARRIER_WAIT, _I, "mbarrier.try_wait", since=90),
    Instruction(simt.MBARRIER_TEST, _I, "mbarrier.try_wait", since=90),
    Instruction(simt.MBARRIER_FENCE, _I, "fence.mbarrier_init", since=90),
    Instruction(simt.ASYNC_ARRIVE, _I, "cp.async.mbarrier.arrive", since=80),
    # cluster launch control
    Instruction(tile.CLC_TRY_CANCEL, _I, "clusterlaunchcontrol.try_cancel", since=100),
    Instruction(tile.CLC_QUERY, _I, "clusterlaunchcontrol.query_cancel", since=100),
    # TMA copies
    Instruction(tile.TMA_LOAD, _P, "cp.async.bulk.tensor", since=90),
    Instruction(tile.TMA_STORE, _P, "cp.async.bulk.tensor", since=90),
    Instruction(tile.TMA_PREFETCH, _P, "cp.async.bulk.prefetch.tensor", since=90),
    Instruction(tile.TENSORMAP_PREFETCH, _P, "prefetch.tensormap", since=90),
    Instruction(tile.TENSORMAP_REPLACE, _P, "tensormap.replace", since=90, specific=True),
    Instruction(tile.TENSORMAP_RELEASE, _P, "fence.proxy.tensormap::generic.release", since=90),
    Instruction(tile.TENSORMAP_ACQUIRE, _P, "fence.proxy.tensormap::generic.acquire", since=90),
    Instruction(tile.TENSORMAP_CP_FENCEPROXY, _P, "tensormap.cp_fenceproxy", since=90),
    Instruction(simt.BULK_COMMIT, _I, "cp.async.bulk.commit_group", since=90),
    Instruction(simt.BULK_WAIT, _I, "cp.async.bulk.wait_group", since=90),
    Instruction(simt.ASYNC_FENCE, _I, "fence.proxy.async", since=90),
    # clusters of blocks
    Instruction(simt.CLUSTER_ARRIVE, _I, "barrier.cluster.arrive", since=90),
    Instruction(simt.CLUSTER_WAIT, _I, "barrier.cluster.wait", since=90),
    Instruction(simt.CLUSTER_ADDRESS, _I, "mapa", since=90),
    Instruction(simt.STORE_ASYNC, _P, "st.async", since=90),
    # copies that go on by themselves
    Instruction(simt.ASYNC_COMMIT, _I, "cp.async.commit_group", since=80, becomes=Nvvm("nvvm.cp.async.commit.group")),
    Instruction(simt.ASYNC_COPY, _I, "cp.async", since=80, becomes=Nvvm("nvvm.cp.async.shared.global", _copied)),
    Instruction(
        simt.ASYNC_WAIT,
        _I,
        "cp.async.wait_group",
        since=80,
        becomes=Nvvm("nvvm.cp.async.wait.group", lambda operation: {"n": operation.attributes["groups"]}),
    ),
    Instruction(simt.PREFETCH, _P, "prefetch", since=20),
    # time
    Instruction(simt.SLEEP, _I, "nanosleep", since=70, becomes=Nvvm("nvvm.nanosleep")),
    Instruction(simt.CLOCK, _I, "%clock", becomes=Nvvm(_clock)),
    Instruction(simt.CLOCK, _I, "%clock64", since=20, when=_of_64_bits),
    Instruction(simt.GLOBAL_TIMER, _I, "%globaltimer", since=30, becomes=Nvvm("nvvm.read.ptx.sreg.globaltimer")),
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
