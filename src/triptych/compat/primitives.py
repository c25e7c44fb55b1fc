"""Primitives, one instruction each, of `cutlass.experimental`: those that programs in plain CuTe DSL call in between.

Pointers are MLIR values, as `pointer.to_llvm_ptr()` and `pointer.llvm_ptr` are.
"""

from __future__ import annotations

from enum import Enum, StrEnum
from typing import Any, NoReturn

from triptych.compat.mlir_builders.dialects.nvvm import AtomicOpKind as AtomicOp
from triptych.compat.mlir_builders.dialects.nvvm import MemOrderKind as MemOrder
from triptych.compat.mlir_builders.dialects.nvvm import MemScopeKind as MemScope
from triptych.compat.mlir_builders.dialects.nvvm import atomicrmw
from triptych.compat.mlir_builders.values import Value, raw
from triptych.cute.arch import execution, mbarriers, warp
from triptych.cute.arch.atomics import fence_acq_rel_cluster
from triptych.cute.arch.barriers import map_dsmem_ptr
from triptych.cute.memory.address_spaces import AddressSpace
from triptych.cute.memory.pointers import Pointer
from triptych.cute.tracing.device import Integer, device_function, device_trace, number
from triptych.frontends.ptx.inline import prmt as permuted
from triptych.metastage.trace.errors import OperandTypeError
from triptych.metastage.trace.trace import place
from triptych.metastage.values.scalars import Boolean, Int8, Numeric, Uint32, numeric_class

__all__ = [
    "AtomicOp",
    "CpReduceOp",
    "CpReduceType",
    "GridDepAction",
    "MBarrierScope",
    "MBarrierWait",
    "MemOrder",
    "MemScope",
    "PermuteMode",
    "ReductionKind",
    "atomicrmw",
    "convert_and_pack_integer",
    "cp_async_bulk_global_shared_cta",
    "cp_reduce_async_bulk_global_shared_cta",
    "fence_sync_restrict",
    "griddepcontrol",
    "mapa",
    "mbarrier_arrive",
    "mbarrier_wait_parity",
    "mov_b32",
    "prmt",
    "redux_sync",
]


def __dir__() -> list[str]:
    return __all__


class PermuteMode(StrEnum):
    """How `prmt` reads its selector."""

    DEFAULT = "default"


class GridDepAction(Enum):
    """What `griddepcontrol` does."""

    WAIT = 0
    LAUNCH_DEPENDENTS = 1


class ReductionKind(StrEnum):
    """How `redux_sync` combines the lanes of a warp."""

    ADD = "add"
    MIN = "min"
    MAX = "max"
    UMIN = "umin"
    UMAX = "umax"
    AND = "and"
    OR = "or"
    XOR = "xor"
    FMIN = "fmin"
    FMAX = "fmax"


class MBarrierWait(Enum):
    """Whether `mbarrier_wait_parity` only asks, or may let some time pass before it answers."""

    TEST = 0
    TRY = 1


class MBarrierScope(StrEnum):
    """Whose writes are visible after a wait."""

    CTA = "cta"
    CLUSTER = "cluster"


class CpReduceOp(StrEnum):
    """What a bulk copy does with what is in memory."""

    ADD = "add"
    MIN = "min"
    MAX = "max"
    INC = "inc"
    DEC = "dec"
    AND = "and"
    OR = "or"
    XOR = "xor"


class CpReduceType(StrEnum):
    """Elements that a bulk copy reduces."""

    F16 = "f16"
    BF16 = "bf16"
    F32 = "f32"
    F64 = "f64"
    S32 = "s32"
    S64 = "s64"
    U32 = "u32"
    U64 = "u64"
    B32 = "b32"
    B64 = "b64"


# registers ------------------------------------------------------------------------------------------------------------
@device_function
def prmt(lo: Integer, selector: Integer, mode: PermuteMode = PermuteMode.DEFAULT, *, hi: Integer = 0) -> Uint32:
    """Byte i of the result is the one that digit i of the selector names, counted over `lo` and then `hi`."""
    if mode is not PermuteMode.DEFAULT:
        raise OperandTypeError(
            "a permutation of bytes by a selector of digits",
            span=place(),
            found=str(mode),
            expected="PermuteMode.DEFAULT",
        )
    return permuted(lo, hi, selector)


@device_function
def mov_b32(src: Numeric, *, target_type: type[Numeric]) -> Any:
    """The same 32 bits as a number of another type."""
    given, kind = number(src), numeric_class(target_type)
    if given.info.width != 32 or kind.width != 32:
        raise OperandTypeError(
            "mov_b32 moves 32 bits",
            span=place(),
            found=f"{type(given).__name__} to {kind.__name__}",
            expected="two types of 32 bits",
        )
    bits = device_trace().value("arith.bitcast", (given.ir_value(),), kind.info.mlir)
    return kind.of(bits, device_trace().region)


@device_function
def redux_sync(
    value: Integer | float, kind: ReductionKind, mask: Integer, *, abs: bool = False, nan: bool = False
) -> Any:
    """Combine the values of the lanes of a mask in one instruction."""
    name = kind.value
    given = number(value)
    if kind in (ReductionKind.UMIN, ReductionKind.UMAX):
        name, given = name.removeprefix("u"), Uint32(given)
    combined = warp.warp_redux_sync(given, name, mask, abs=abs, nan=nan)
    return combined.to(type(number(value)))


# barriers -------------------------------------------------------------------------------------------------------------
class RemoteAddress(Value):
    """A place in the shared memory of another block of the cluster, which also an mbarrier may be at."""

    def __init__(self, value: object, here: Pointer, rank: Integer) -> None:
        super().__init__(value)
        self.here, self.rank = here, rank


@device_function
def mapa(addr: object, cta_rank: Integer) -> RemoteAddress:
    """The same place in the shared memory of another block of the cluster."""
    here = Pointer(raw(addr), Int8, AddressSpace.smem)
    return RemoteAddress(map_dsmem_ptr(here, cta_rank).ir_value(), here, cta_rank)


@device_function
def mbarrier_arrive(addr: object, count: Integer = 1, *, scope: MemScope = MemScope.CTA, relaxed: bool = False) -> None:
    """Arrive, also at a barrier of another block; the order is the strongest, whatever is asked for."""
    if isinstance(addr, RemoteAddress):
        mbarriers.mbarrier_arrive(addr.here, addr.rank, count)
    else:
        mbarriers.mbarrier_arrive(raw(addr), None, count)


@device_function
def mbarrier_wait_parity(
    addr: object,
    phase: Integer,
    kind: MBarrierWait = MBarrierWait.TRY,
    *,
    scope: MBarrierScope = MBarrierScope.CTA,
    order: MemOrder = MemOrder.ACQUIRE,
) -> Boolean:
    """Whether the phase of a parity is over; if so, what others wrote before they arrived is visible."""
    return mbarriers.mbarrier_try_wait(raw(addr), phase)


@device_function
def fence_sync_restrict(order: MemOrder) -> None:
    """Order what this thread did with shared memory before what it does next, for the blocks of the cluster."""
    fence_acq_rel_cluster()


@device_function
def griddepcontrol(action: GridDepAction) -> None:
    """Wait for the grid in front of this one, or let the next one begin."""
    if action is GridDepAction.WAIT:
        execution.griddepcontrol_wait()
    else:
        execution.griddepcontrol_launch_dependents()


# what is not here -----------------------------------------------------------------------------------------------------
def _bulk(name: str) -> OperandTypeError:
    return OperandTypeError(
        f"`{name}` copies bytes without a tensor map, which is not here yet",
        span=place(),
        found=f"primitives.{name}(...)",
        expected="a copy of a tile: `cute.copy` with an atom of `cpasync.make_tiled_tma_atom`",
    )


@device_function
def cp_async_bulk_global_shared_cta(*_: object) -> NoReturn:
    """A bulk copy from shared memory; refused."""
    raise _bulk("cp_async_bulk_global_shared_cta")


@device_function
def cp_reduce_async_bulk_global_shared_cta(*_: object, **__: object) -> NoReturn:
    """A bulk copy from shared memory that reduces; refused."""
    raise _bulk("cp_reduce_async_bulk_global_shared_cta")


@device_function
def convert_and_pack_integer(*_: object, **__: object) -> NoReturn:
    """Two integers as narrower ones in one register; refused: which one is the lower half is not documented."""
    raise OperandTypeError(
        "`convert_and_pack_integer` is not here yet",
        span=place(),
        found="primitives.convert_and_pack_integer(...)",
        expected="`cvt.pack.sat` as inline PTX, which says which operand is the lower half",
    )
