"""Builder calls of NVIDIA's dialect that programs make themselves: `cutlass._mlir.dialects.nvvm`.

Each stands for the operation of the language that means the same, so it runs on every machine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum, StrEnum
from functools import reduce
from typing import Any

from triptych.compat.later import Later, builder_call
from triptych.compat.mlir_builders.values import Value, raw, wrapped
from triptych.cute.arch import atomics, execution, mbarriers, warp
from triptych.cute.arch.async_copies import ProxyKind, SharedSpace, fence_proxy
from triptych.cute.arch.barriers import map_dsmem_ptr
from triptych.cute.copies.dispatch import only_if
from triptych.cute.copies.tma_copies import load_as_mapped
from triptych.cute.memory.address_spaces import AddressSpace
from triptych.cute.memory.pointers import Pointer
from triptych.cute.tracing.device import device_function, device_trace
from triptych.ir import bindings
from triptych.ir.types import type_text
from triptych.kernel_ir.dialects.simt import ELECT, MBARRIER_TEST
from triptych.metastage.trace.errors import OperandTypeError
from triptych.metastage.trace.trace import place
from triptych.metastage.values.scalars import Float32, Float64, Int8, Int32, Int64, Numeric, Uint32, Uint64

__all__ = [
    "AtomicOpKind",
    "CpAsyncBulkTensorGlobalToSharedClusterOp",
    "CpAsyncBulkTensorLoadMode",
    "FPRoundingMode",
    "MBarrierSpaceKind",
    "MBarrierTxnKind",
    "MemOrderKind",
    "MemScopeKind",
    "ProxyKind",
    "ReductionOp",
    "ReductionType",
    "ReduxKind",
    "RoundingModeKind",
    "SharedSpace",
    "TMALoadMode",
    "add_packed_f32x2",
    "atomicrmw",
    "cp_async_mbarrier_arrive_shared",
    "elect_sync",
    "fence_proxy",
    "fma_packed_f32x2",
    "fmax",
    "fmin",
    "mapa",
    "mbarrier_try_wait_parity_timelimit",
    "mbarrier_txn",
    "mul_packed_f32x2",
    "nanosleep",
    "read_ptx_sreg_clock",
    "read_ptx_sreg_clock64",
    "read_ptx_sreg_globaltimer",
    "red",
    "redux_sync",
    "sub_packed_f32x2",
]


class RoundingModeKind(StrEnum):
    """Where results go that lie between two floats, by the word of the instruction set."""

    NONE = "none"
    RN = "rn"
    RM = "rm"
    RP = "rp"
    RZ = "rz"


FPRoundingMode = RoundingModeKind


class MemOrderKind(StrEnum):
    """How an operation is ordered with others of its thread."""

    WEAK = "weak"
    RELAXED = "relaxed"
    ACQUIRE = "acquire"
    RELEASE = "release"
    ACQ_REL = "acq_rel"


class MemScopeKind(StrEnum):
    """Who sees the order."""

    CTA = "cta"
    CLUSTER = "cluster"
    GPU = "gpu"
    SYS = "sys"


class AtomicOpKind(StrEnum):
    """What an atomic operation does with what is in memory."""

    ADD = "add"
    FADD = "fadd"
    AND = "and"
    OR = "or"
    XOR = "xor"
    MAX = "max"
    MIN = "min"
    UMAX = "umax"
    UMIN = "umin"
    INC = "inc"
    DEC = "dec"
    EXCH = "exch"
    CAS = "cas"


class ReductionOp(StrEnum):
    """What a reduction of memory does with what is there."""

    ADD = "add"
    AND = "and"
    OR = "or"
    XOR = "xor"
    MIN = "min"
    MAX = "max"
    INC = "inc"
    DEC = "dec"


class ReductionType(StrEnum):
    """Numbers that a reduction is of."""

    B32 = "b32"
    U32 = "u32"
    S32 = "s32"
    F32 = "f32"
    B64 = "b64"
    U64 = "u64"
    S64 = "s64"
    F64 = "f64"


class ReduxKind(StrEnum):
    """How the lanes of a warp are combined."""

    ADD = "add"
    AND = "and"
    OR = "or"
    XOR = "xor"
    MAX = "max"
    MIN = "min"
    UMAX = "umax"
    UMIN = "umin"
    FMAX = "fmax"
    FMIN = "fmin"


class MBarrierTxnKind(StrEnum):
    """What a thread does to an mbarrier that counts bytes."""

    ARRIVE = "arrive"
    EXPECT_TX = "expect_tx"
    ARRIVE_EXPECT_TX = "arrive.expect_tx"


class MBarrierSpaceKind(StrEnum):
    """Whose mbarrier it is."""

    CTA = "cta"
    CLUSTER = "cluster"


class TMALoadMode(Enum):
    """Which elements of a tensor a box is."""

    TILE = 0


CpAsyncBulkTensorLoadMode = TMALoadMode


def __dir__() -> list[str]:
    return __all__


_LATER = {
    "`nvgpu.tcgen05`, `pipeline.PipelineUmmaAsync` and `utils.TmemAllocator`: descriptors made of bits are not read": (
        "CTAGroupKind Tcgen05FenceKind Tcgen05LdStShape Tcgen05MMAKind Tcgen05WaitKind tcgen05_alloc tcgen05_commit "
        "tcgen05_dealloc tcgen05_fence tcgen05_ld tcgen05_mma tcgen05_relinquish_alloc_permit tcgen05_st tcgen05_wait"
    ),
    "`if` around what the other threads do: a thread ends where the kernel does": "exit",
}
"""Names that programs import, by what to write where they are used."""


def __getattr__(name: str) -> Later:
    for instead, names in _LATER.items():
        if name in names.split():
            return builder_call(f"cutlass._mlir.dialects.nvvm.{name}", instead)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)


def _without_type(arguments: Sequence[Any]) -> Sequence[Any]:
    """The operands: older builders take the type of the result before them, which the operands tell."""
    return arguments[1:] if isinstance(arguments[0], bindings.mlir().Type) else arguments


# numbers ----------------------------------------------------------------------------------------------------------
@device_function
def fmax(*operands: object, c: object = None, nan: bool = False, ftz: bool = False) -> Any:
    """The largest of two or three floats; of a NaN and a number the number, or NaN if `nan`."""
    return _extreme("max", operands, c, nan)


@device_function
def fmin(*operands: object, c: object = None, nan: bool = False, ftz: bool = False) -> Any:
    """The smallest of two or three floats; of a NaN and a number the number, or NaN if `nan`."""
    return _extreme("min", operands, c, nan)


def _extreme(which: str, operands: Sequence[object], c: object, nan: bool) -> Any:
    values = [raw(value) for value in (*_without_type(operands), *([] if c is None else [c]))]
    operation = f"arith.{which}imumf" if nan else f"arith.{which}numf"
    return wrapped(reduce(lambda a, b: device_trace().value(operation, (a, b), type_text(a.type)), values))


_UNSIGNED_KINDS = {ReduxKind.UMAX: "max", ReduxKind.UMIN: "min"}


@device_function
def redux_sync(
    res: object = None,
    val: object = None,
    kind: ReduxKind = ReduxKind.ADD,
    mask_and_clamp: object = None,
    *,
    abs: bool = False,
    nan: bool = False,
) -> Any:
    """What the lanes of a mask have, combined; whole numbers have a sign but in UMAX and UMIN."""
    value = _number(val)
    if kind in _UNSIGNED_KINDS:
        value = Uint32(value)
    name = _UNSIGNED_KINDS.get(kind, str(kind))
    return raw(warp.warp_redux_sync(value, name, _number(mask_and_clamp), abs=bool(abs), nan=bool(nan)))


def _packed(name: str, operation: str) -> Callable[..., Any]:
    def emit(*operands: object, rnd: str = "rn", ftz: bool = False) -> Any:
        if rnd != RoundingModeKind.RN:
            raise OperandTypeError(
                "pairs of floats are rounded to nearest",
                span=place(),
                found=f"{name}(..., rnd={str(rnd)!r})",
                expected="rnd=nvvm.RoundingModeKind.RN",
            )
        values = [raw(value) for value in _without_type(operands)]
        return wrapped(device_trace().value(operation, values, type_text(values[0].type)))

    emit.__name__ = emit.__qualname__ = name
    emit.__doc__ = f"`{operation}` of vectors of two Float32."
    return device_function(emit)


add_packed_f32x2 = _packed("add_packed_f32x2", "arith.addf")
sub_packed_f32x2 = _packed("sub_packed_f32x2", "arith.subf")
mul_packed_f32x2 = _packed("mul_packed_f32x2", "arith.mulf")
fma_packed_f32x2 = _packed("fma_packed_f32x2", "math.fma")


# memory -----------------------------------------------------------------------------------------------------------
_UNSIGNED = {AtomicOpKind.UMAX: "max", AtomicOpKind.UMIN: "min"}


@device_function
def atomicrmw(
    *operands: object,
    res: object = None,
    op: AtomicOpKind | None = None,
    ptr: object = None,
    a: object = None,
    b: object = None,
    mem_order: MemOrderKind | None = None,
    syncscope: MemScopeKind | None = None,
) -> Any:
    """One number of memory, read and written at once; what was there. `b` is what CAS puts in the place of `a`."""
    given, named = _without_type(operands) if operands else (), (op, ptr, a, b)
    everything: list[Any] = [*given, *named[len(given) :]]
    kind, where, value, other = everything
    address, number = raw(where), _number(value)
    order = {"sem": _word(mem_order), "scope": _word(syncscope)}
    if kind == AtomicOpKind.CAS:
        old = atomics.atomic_cas(address, cmp=number, val=_number(other), **order)
    else:
        if kind in _UNSIGNED:
            number = {32: Uint32, 64: Uint64}[number.width](raw(number))
        name = _UNSIGNED.get(kind, str(kind).removeprefix("f"))
        old = getattr(atomics, f"atomic_{name}")(address, number, **order)
    return wrapped(old.ir_value())


_NUMBERS: dict[ReductionType, type[Numeric]] = {
    ReductionType.B32: Uint32,
    ReductionType.U32: Uint32,
    ReductionType.S32: Int32,
    ReductionType.F32: Float32,
    ReductionType.B64: Uint64,
    ReductionType.U64: Uint64,
    ReductionType.S64: Int64,
    ReductionType.F64: Float64,
}


@device_function
def red(
    *,
    op: ReductionOp,
    type_: ReductionType,
    a: object,
    b: object,
    mem_order: MemOrderKind | None = None,
    mem_scope: MemScopeKind | None = None,
    shared_space: SharedSpace | None = None,
) -> None:
    """A number of memory at `a`, updated with `b` at once; the pointer says in which memory it lies."""
    update = getattr(atomics, f"atomic_{op.value}")
    update(raw(a), _NUMBERS[type_](raw(b)), sem=_word(mem_order), scope=_word(mem_scope))


def _number(value: object) -> Any:
    """A number of the language, for functions of `cute.arch`."""
    return wrapped(raw(value))


def _word(kind: StrEnum | None) -> str | None:
    return None if kind is None else kind.value


@device_function
def mapa(*operands: object) -> Any:
    """The same place in the shared memory of another block of the cluster."""
    where, rank = _without_type(operands)
    pointer = Pointer(raw(where), Int8, AddressSpace.smem)
    return Value(map_dsmem_ptr(pointer, _number(rank)).ir_value())


@device_function
def cp_async_mbarrier_arrive_shared(addr: object, *, noinc: bool = False) -> None:
    """Arrive when the asynchronous copies of this thread have landed."""
    if not noinc:
        raise OperandTypeError(
            "an arrival that the barrier does not count itself is not here",
            span=place(),
            found="cp_async_mbarrier_arrive_shared(..., noinc=False)",
            expected="noinc=True, and a barrier that counts the arrival",
        )
    mbarriers.cp_async_mbarrier_arrive_noinc(raw(addr))


@device_function
def mbarrier_txn(
    addr: object,
    txcount: object,
    *,
    kind: MBarrierTxnKind,
    space: MBarrierSpaceKind = MBarrierSpaceKind.CTA,
    order: MemOrderKind = MemOrderKind.RELEASE,
) -> None:
    """Arrive, or expect bytes, on an mbarrier of this block."""
    if space is not MBarrierSpaceKind.CTA:
        raise OperandTypeError(
            "an mbarrier of another block is named by its rank",
            span=place(),
            found=f"mbarrier_txn(..., space={space.value!r})",
            expected="MBarrierSpaceKind.CTA",
            instead="cute.arch.mbarrier_arrive(mbar_ptr, peer_cta_rank_in_cluster)",
        )
    barrier, count = raw(addr), _number(txcount)
    match kind:
        case MBarrierTxnKind.ARRIVE:
            mbarriers.mbarrier_arrive(barrier, arrive_count=count)
        case MBarrierTxnKind.EXPECT_TX:
            mbarriers.mbarrier_expect_tx(barrier, count)
        case _:
            mbarriers.mbarrier_arrive_and_expect_tx(barrier, count)


@device_function
def nanosleep(duration: object) -> None:
    """Wait, about as many nanoseconds."""
    execution.nanosleep(_number(duration))


# clocks -----------------------------------------------------------------------------------------------------------
@device_function
def read_ptx_sreg_clock(res: object = None) -> Int32:
    """The low half of a counter of cycles."""
    return execution.clock().to(Int32)


@device_function
def read_ptx_sreg_clock64(res: object = None) -> Int64:
    """A counter of cycles."""
    return execution.clock64().to(Int64)


@device_function
def read_ptx_sreg_globaltimer(res: object = None) -> Int64:
    """Nanoseconds since some moment, the same for all threads."""
    return execution.globaltimer().to(Int64)


# one thread of several, and phases --------------------------------------------------------------------------------
@device_function
def elect_sync(*, membermask: object = None, loc: object = None, ip: object = None) -> Any:
    """True in one lane of the warp."""
    return wrapped(device_trace().value(ELECT, (), "i1"))


@device_function
def mbarrier_try_wait_parity_timelimit(
    addr: object, phase: object, ticks: object, *, loc: object = None, ip: object = None
) -> Any:
    """Whether the phase of a parity is over; how long to wait for it is the machine's own affair."""
    return wrapped(device_trace().value(MBARRIER_TEST, (raw(addr), raw(phase)), "i1"))


@device_function
def CpAsyncBulkTensorGlobalToSharedClusterOp(
    dstMem: object,
    tmaDescriptor: object,
    coordinates: Sequence[Any],
    mbar: object,
    im2colOffsets: Sequence[Any] = (),
    *,
    predicate: object = None,
    mode: TMALoadMode = TMALoadMode.TILE,
    loadMode: TMALoadMode = TMALoadMode.TILE,
    loc: object = None,
    ip: object = None,
) -> None:
    """Load a box, as large as its tensor map says, in the threads whose predicate holds."""
    if im2colOffsets:
        found = f"{len(im2colOffsets)} offsets of im2col"
        raise OperandTypeError("TMA loads are of tiles", span=place(), found=found, expected="none, and TILE")
    operands = raw(tmaDescriptor), raw(dstMem), raw(mbar), list(map(raw, coordinates))

    def load() -> None:
        load_as_mapped(*operands)

    load() if predicate is None else only_if(wrapped(raw(predicate)), load)
