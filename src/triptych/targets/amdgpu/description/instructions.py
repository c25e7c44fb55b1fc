"""Instruction table of AMD's chips: for each operation of kernels the instructions, LLVM's intrinsics, who has them.

One row for each operation of the dialects `simt`, `gpu` and `llvm` that kernels may have. What has no row is refused
before LLVM, which would end its process or make a call of what it does not know. `INTRINSICS` are the only ones that
passes may call; a test compiles every row for every chip.
"""

from __future__ import annotations

from collections.abc import Mapping

from triptych.kernel_ir.dialects import simt, tile
from triptych.support.dataclass import dataclass
from triptych.targets.amdgpu.description.chips import Chip, Feature

_GFX9, _RDNA = Feature.MFMA, Feature.WMMA


@dataclass(frozen=True, slots=True)
class Intrinsic:
    """A function that LLVM knows by name, and the instruction that it becomes."""

    name: str
    gfx9: str = ""
    """How the instruction begins; empty on chips that lack it, or where it becomes none by itself."""
    rdna: str = ""
    needs: Feature | None = None

    def is_on(self, chip: Chip) -> bool:
        return self.needs is None or self.needs in chip.features


def _both(name: str, isa: str) -> Intrinsic:
    return Intrinsic(name, isa, isa)


BALLOT_64 = Intrinsic("llvm.amdgcn.ballot.i64", "v_cmp", needs=_GFX9)
BALLOT_32 = Intrinsic("llvm.amdgcn.ballot.i32", rdna="v_cmp", needs=_RDNA)
BPERMUTE = _both("llvm.amdgcn.ds.bpermute", "ds_bpermute_b32")
SWIZZLE = _both("llvm.amdgcn.ds.swizzle", "ds_swizzle_b32")
DPP = _both("llvm.amdgcn.update.dpp.i32", "v_mov_b32_dpp")
PERMLANE_X16 = Intrinsic("llvm.amdgcn.permlanex16.i32", rdna="v_permlanex16_b32", needs=Feature.PERMLANE_X16)
PERMLANE_SWAP = Intrinsic("llvm.amdgcn.permlane32.swap", "v_permlane32_swap_b32", needs=Feature.PERMLANE_SWAP)
READ_LANE = _both("llvm.amdgcn.readlane.i32", "v_readlane_b32")
READ_FIRST_LANE = _both("llvm.amdgcn.readfirstlane.i32", "v_readfirstlane_b32")
COUNT_LOW = _both("llvm.amdgcn.mbcnt.lo", "v_mbcnt_lo_u32_b32")
COUNT_HIGH = Intrinsic("llvm.amdgcn.mbcnt.hi", "v_mbcnt_hi_u32_b32", needs=_GFX9)
SET_INACTIVE = Intrinsic("llvm.amdgcn.set.inactive.i32")
WHOLE_WAVE = Intrinsic("llvm.amdgcn.strict.wwm.i32")
WAVE_BARRIER = Intrinsic("llvm.amdgcn.wave.barrier")
BARRIER = Intrinsic("llvm.amdgcn.s.barrier", "s_barrier", "s_barrier", Feature.COMBINED_WAIT)
BARRIER_SIGNAL = Intrinsic("llvm.amdgcn.s.barrier.signal", rdna="s_barrier_signal", needs=Feature.COUNTED_LOADS)
BARRIER_WAIT = Intrinsic("llvm.amdgcn.s.barrier.wait", rdna="s_barrier_wait", needs=Feature.COUNTED_LOADS)
SLEEP = _both("llvm.amdgcn.s.sleep", "s_sleep")
CYCLES = Intrinsic("llvm.readcyclecounter", "s_memtime", "s_getreg_b32")
STEADY = Intrinsic("llvm.readsteadycounter", "s_memrealtime", "s_sendmsg_rtn_b64")
LDS_COPY = Intrinsic("llvm.amdgcn.global.load.lds", "global_load_", needs=Feature.LDS_COPY)
WAIT = _both("llvm.amdgcn.s.waitcnt", "s_waitcnt")
SCHEDULING_BARRIER = Intrinsic("llvm.amdgcn.sched.barrier", "; sched_barrier", "; sched_barrier")
DISPATCH = Intrinsic("llvm.amdgcn.dispatch.ptr", "s_load_dword", "s_load_b")
TRAP = Intrinsic("llvm.trap", "s_trap", "s_trap")

INTRINSICS = {
    intrinsic.name: intrinsic
    for intrinsic in (
        *(BALLOT_64, BALLOT_32, BPERMUTE, SWIZZLE, DPP, PERMLANE_X16, PERMLANE_SWAP, READ_LANE, READ_FIRST_LANE),
        *(
            COUNT_LOW,
            COUNT_HIGH,
            SET_INACTIVE,
            WHOLE_WAVE,
            WAVE_BARRIER,
            BARRIER,
            BARRIER_SIGNAL,
            BARRIER_WAIT,
            SLEEP,
            CYCLES,
            STEADY,
        ),
        *(LDS_COPY, WAIT, SCHEDULING_BARRIER, DISPATCH, TRAP),
    )
}
_FAMILIES = (
    *("llvm.fptosi.sat.", "llvm.fptoui.sat."),
    *("llvm.amdgcn.workitem.id.", "llvm.amdgcn.workgroup.id."),
)
"""Intrinsics that all chips have, up to the type or the axis in their names."""


def may_call(name: str, chip: Chip) -> bool:
    """Whether LLVM knows an intrinsic, and the chip has it."""
    known = INTRINSICS.get(name)
    return name.startswith(_FAMILIES) if known is None else known.is_on(chip)


@dataclass(frozen=True, slots=True)
class Row:
    """What an operation becomes: the instructions that it may begin with, on gfx9 and on RDNA."""

    operation: str
    gfx9: str
    rdna: str = ""


ROWS = (
    Row("gpu.block_dim", ""),
    Row("gpu.block_id", "s_"),
    Row("gpu.grid_dim", "s_load_dword", "s_load_b"),
    Row("gpu.lane_id", "v_mbcnt_lo_u32_b32"),
    Row("gpu.thread_id", "v_"),
    Row("gpu.func", ""),
    Row("gpu.return", "s_endpgm"),
    Row("gpu.barrier", "s_barrier"),
    Row(simt.SYNC_WARP, ""),
    Row(simt.BARRIER, "s_barrier"),
    Row(simt.ELECT, "v_mbcnt_lo_u32_b32"),
    Row(simt.MATCH, "v_readfirstlane_b32"),
    Row(simt.REDUCE, "v_add_u32_dpp", "v_add_nc_u32_dpp"),
    Row(simt.SHUFFLE, "ds_bpermute_b32"),
    Row(simt.VOTE, "v_cmp"),
    Row(simt.ASYNC_COMMIT, ""),
    Row(simt.ASYNC_COPY, "ds_write_b128", "ds_store_b128"),
    Row(simt.ASYNC_WAIT, ""),
    Row(simt.PREFETCH, ""),
    Row(simt.SLEEP, "s_sleep"),
    Row(simt.CLOCK, "s_memtime", "s_getreg_b32"),
    Row(simt.GLOBAL_TIMER, "s_memrealtime", "s_sendmsg_rtn_b64"),
    Row(simt.DIVISOR, ""),
    Row("llvm.alloca", ""),
    Row("llvm.atomicrmw", "global_atomic_add"),
    Row("llvm.cmpxchg", "global_atomic_cmpswap"),
    Row("llvm.fence", "s_waitcnt"),
    Row("llvm.getelementptr", ""),
    Row("llvm.load", "global_load_dword", "global_load_b32"),
    Row("llvm.mlir.addressof", ""),
    Row("llvm.mlir.global", ""),
    Row("llvm.store", "global_store_dword", "global_store_b32"),
    Row("llvm.call_intrinsic", ""),
    Row("llvm.extractvalue", ""),
    Row("llvm.addrspacecast", ""),
    Row("llvm.inttoptr", ""),
    Row("llvm.ptrtoint", ""),
    Row("llvm.mlir.constant", ""),
    Row("llvm.mlir.zero", ""),
    Row("llvm.mlir.undef", ""),
    Row("llvm.mlir.poison", ""),
    Row("cf.assert", "s_trap"),
)
OPERATIONS: Mapping[str, Row] = {row.operation: row for row in ROWS}
DIALECTS = ("arith.", "scf.", "ub.", "vector.")
"""Of what every machine has; `math` is looked at by function and type."""

_WHOLE = ("absi", "ctlz", "ctpop", "cttz", "ipowi")
_EXACT = (
    *("absf", "ceil", "copysign", "floor", "fma", "round", "roundeven", "sqrt", "trunc", "rsqrt"),
    *("isfinite", "isinf", "isnan", "isnormal"),
)
EXACT_MATH = frozenset(f"math.{name}" for name in (*_WHOLE, *_EXACT))
"""Functions of all types that LLVM has instructions or a short expansion for."""

_NO_TMA = ("has no TMA", "copies by threads, as of `cute.copy` with a universal atom")
_NO_CLUSTERS = ("has no clusters of blocks", "a launch without `cluster`")
_NO_MBARRIERS = ("has no barriers in shared memory", "a barrier of the whole block")
_NO_OVERLAP = ("has no launches that overlap", "a launch without `use_pdl`")
_OTHER_MATRICES = ("has no matrix instruction of NVIDIA's shapes", "`MmaUniversalOp`, or a product of AMD's")
_NO_MULTICAST = ("has no memory that stands for that of all GPUs", "target='nvptx:sm_90a'")
_NO_MATRIX_COPIES = ("has no copies of whole matrices", "a copy with a universal atom")
WHY_MISSING: Mapping[str, tuple[str, str]] = {
    "gpu.printf": ("prints by a service of AMD's device library", "target='cpu' to print"),
    "llvm.inline_asm": ("has no PTX", "operations of `cute.arch`, which every target has"),
    simt.BARRIER_ARRIVE: ("has one barrier for a block, at which all threads wait", "a barrier of the whole block"),
    simt.AWAIT_PREVIOUS_GRID: _NO_OVERLAP,
    simt.LAUNCH_DEPENDENTS: _NO_OVERLAP,
    simt.SET_REGISTERS: ("fixes the registers of a kernel when it is launched", "a kernel without `setmaxregister`"),
    simt.ASYNC_ARRIVE: _NO_MBARRIERS,
    simt.ASYNC_FENCE: _NO_TMA,
    simt.STORE_ASYNC: _NO_CLUSTERS,
    simt.IS_MULTICAST: _NO_MULTICAST,
    tile.LOAD_MATRIX: _NO_MATRIX_COPIES,
    tile.STORE_MATRIX: _NO_MATRIX_COPIES,
    tile.MMA: _OTHER_MATRICES,
    tile.MMA_BLOCK_SCALE: _OTHER_MATRICES,
}
"""Of operations without a row: why AMD has none, and what to write instead."""
_FAMILIES_MISSING = {
    "simt.mbarrier_": _NO_MBARRIERS,
    "simt.bulk_": _NO_TMA,
    "simt.cluster_": _NO_CLUSTERS,
    "simt.multicast_": _NO_MULTICAST,
    "tile.tm": ("has no TMA and no tensor memory", _NO_TMA[1]),
    "tile.tensor": _NO_TMA,
    "tile.um": ("has no tensor memory", _OTHER_MATRICES[1]),
    "tile.clc_": ("gives blocks out by itself only", "a grid with a block for each tile"),
    "tile.wg": ("has no products of four warps", _OTHER_MATRICES[1]),
}
"""The same by how the name begins."""


def why_missing(operation: str) -> tuple[str, str]:
    """Why no chip of AMD's has an operation, and what to write instead."""
    if operation in WHY_MISSING:
        return WHY_MISSING[operation]
    return next(
        (why for begin, why in _FAMILIES_MISSING.items() if operation.startswith(begin)),
        ("has no such operation", "target='cpu'"),
    )
