"""Atomic operations and fences: memory order among threads, in the words of programs and in LLVM's.

An atomic operation returns what was there before; memory operations before a fence are seen before those after it.
"""

from __future__ import annotations

from typing import Any, Protocol, TypeGuard

from triptych.cute.memory.addresses import check_access, reached
from triptych.cute.memory.pointers import Pointer
from triptych.cute.tracing.device import Integer, device_function, device_trace, number
from triptych.ir.handles import Attribute, Value
from triptych.ir.types import is_pointer
from triptych.metastage.trace.errors import OperandTypeError
from triptych.metastage.trace.trace import Trace, place
from triptych.metastage.values.coercion import declared_number
from triptych.metastage.values.scalars import Numeric
from triptych.support.wording import with_article

__all__ = [
    "atomic_add",
    "atomic_and",
    "atomic_cas",
    "atomic_dec",
    "atomic_exch",
    "atomic_fmax",
    "atomic_fmin",
    "atomic_inc",
    "atomic_max",
    "atomic_max_float32",
    "atomic_min",
    "atomic_or",
    "atomic_xor",
    "fence_acq_rel_cluster",
    "fence_acq_rel_cta",
    "fence_acq_rel_gpu",
    "fence_acq_rel_sys",
]

RELAXED, ACQUIRE, RELEASE, ACQUIRE_RELEASE = 2, 4, 5, 6
"""LLVM's numbers of the orderings."""
_ORDERINGS = {"relaxed": RELAXED, "acquire": ACQUIRE, "release": RELEASE, "acq_rel": ACQUIRE_RELEASE}
_SCOPES = {"cta": "block", "cluster": "cluster", "gpu": "device", "sys": ""}


def ordering(sem: str | None) -> int:
    """The ordering of an atomic operation; none stated means that only the operation itself is atomic."""
    if sem is not None and sem not in _ORDERINGS:
        raise _unknown("sem", sem, _ORDERINGS)
    return RELAXED if sem is None else _ORDERINGS[sem]


def scope_attributes(trace: Trace, scope: str | None) -> dict[str, Attribute]:
    """Who sees the operation in order: the threads of the block, the cluster, the device, or everybody."""
    if scope is not None and scope not in _SCOPES:
        raise _unknown("scope", scope, _SCOPES)
    name = _SCOPES[scope or "gpu"]
    return {"syncscope": trace.builder.string(name)} if name else {}


def _unknown(what: str, given: str, known: dict[str, object] | dict[str, int] | dict[str, str]) -> OperandTypeError:
    return OperandTypeError(
        f"there is no {what} {given!r}", span=place(), found=f"{what}={given!r}", expected=", ".join(map(repr, known))
    )


_WORDS = ("Int32", "Uint32")
_INTEGERS = ("Int32", "Uint32", "Int64", "Uint64")
_FLOATS = ("Float16", "BFloat16", "Float32", "Float64")
_OPERATIONS = {"exch": 0, "add": 1, "and": 3, "or": 5, "xor": 6, "max": 7, "min": 8, "inc": 15, "dec": 16}
"""LLVM's numbers of the operations on signed integers."""
_UNSIGNED = {"max": 9, "min": 10}
_FLOATING = {"exch": 0, "add": 11, "max": 13, "min": 14}


class _Update(Protocol):
    """The signature of an atomic operation with one operand."""

    def __call__(
        self, ptr: Pointer | Value, val: Integer | float, *, sem: str | None = None, scope: str | None = None
    ) -> Any: ...


def _updating(operation: str, doc: str) -> _Update:
    def update(ptr: Pointer | Value, val: Integer | float, *, sem: str | None = None, scope: str | None = None) -> Any:
        return _update(operation, ptr, val, sem, scope)

    update.__name__ = update.__qualname__ = f"atomic_{operation}"
    update.__doc__ = doc
    return device_function(update)


atomic_add = _updating("add", "Add `val` to what is at `ptr`.")
atomic_max = _updating("max", "Leave the larger of `val` and what is at `ptr`.")
atomic_min = _updating("min", "Leave the smaller of `val` and what is at `ptr`.")
atomic_and = _updating("and", "Keep the bits at `ptr` that `val` has too.")
atomic_or = _updating("or", "Set the bits of `val` at `ptr`.")
atomic_xor = _updating("xor", "Turn the bits of `val` over at `ptr`.")
atomic_exch = _updating("exch", "Put `val` at `ptr`.")
atomic_inc = _updating("inc", "Add one to what is at `ptr`, or begin again at 0 after `val`; both count as unsigned.")
atomic_dec = _updating("dec", "Take one from what is at `ptr`; after 0, and from beyond `val`, comes `val`.")


@device_function
def atomic_fmax(
    ptr: Pointer | Value,
    val: Integer | float,
    *,
    sem: str | None = None,
    scope: str | None = None,
    sign_bit: bool | None = None,
) -> Any:
    """As `atomic_max`, of floats; `sign_bit` says whether `val` may be negative, which nobody needs to know here."""
    return _update("max", ptr, val, sem, scope)


@device_function
def atomic_max_float32(ptr: Pointer | Value, value: float, *, positive_only: bool = True) -> Any:
    """`atomic_fmax` of Float32, by an older name."""
    return _update("max", ptr, value, None, None)


@device_function
def atomic_fmin(
    ptr: Pointer | Value,
    val: Integer | float,
    *,
    sem: str | None = None,
    scope: str | None = None,
    sign_bit: bool | None = None,
) -> Any:
    """As `atomic_min`, of floats; `sign_bit` says whether `val` may be negative, which nobody needs to know here."""
    return _update("min", ptr, val, sem, scope)


@device_function
def atomic_cas(
    ptr: Pointer | Value,
    *,
    cmp: Integer | float,
    val: Integer | float,
    sem: str | None = None,
    scope: str | None = None,
) -> Any:
    """Put `val` at `ptr` if `cmp` is there."""
    trace = device_trace()
    address, dtype = _place(ptr, val)
    _require(dtype, "cas", _INTEGERS)
    order = ordering(sem)
    integer = trace.builder.integer
    attributes = {
        "success_ordering": integer("i64", order),
        "failure_ordering": integer("i64", ACQUIRE if order in (ACQUIRE, ACQUIRE_RELEASE) else RELAXED),
        "alignment": integer("i64", dtype.width // 8),
        **scope_attributes(trace, scope),
    }
    operands = (address, _as(dtype, cmp), _as(dtype, val))
    pair = trace.value("llvm.cmpxchg", operands, f"!llvm.struct<({dtype.info.mlir}, i1)>", attributes)
    position = {"position": trace.builder.attribute("array<i64: 0>")}
    return dtype.of(trace.value("llvm.extractvalue", (pair,), dtype.info.mlir, position), trace.region)


def _update(operation: str, ptr: Pointer | Value, val: Integer | float, sem: str | None, scope: str | None) -> Numeric:
    trace = device_trace()
    address, dtype = _place(ptr, val)
    wide = (*_INTEGERS, *_FLOATS) if operation in _FLOATING else _INTEGERS
    _require(dtype, operation, _WORDS if operation in ("inc", "dec") else wide)
    integer = trace.builder.integer
    attributes = {
        "bin_op": integer("i64", _number_of(operation, dtype)),
        "ordering": integer("i64", ordering(sem)),
        "alignment": integer("i64", dtype.width // 8),
        **scope_attributes(trace, scope),
    }
    return _emit(trace, address, _as(dtype, val), dtype, attributes)


def _emit(
    trace: Trace, address: Value, value: Value, dtype: type[Numeric], attributes: dict[str, Attribute]
) -> Numeric:
    old = trace.value("llvm.atomicrmw", (address, value), dtype.info.mlir, attributes)
    return dtype.of(old, trace.region)


def _number_of(operation: str, dtype: type[Numeric]) -> int:
    if dtype.info.kind == "float":
        return _FLOATING[operation]
    if dtype.info.kind == "uint":
        return _UNSIGNED.get(operation, _OPERATIONS[operation])
    return _OPERATIONS[operation]


def _place(ptr: object, val: Integer | float) -> tuple[Value, type[Numeric]]:
    """The address and the type of what is there: a Pointer knows it, of a bare address the value tells it."""
    if isinstance(ptr, Pointer):
        trace = device_trace()
        address = reached(trace, ptr, 0, ptr.dtype)
        size = ptr.dtype.width // 8
        check_access(trace, ptr, address, size, size, ptr)
        return address, ptr.dtype
    if is_address(ptr):
        return ptr, type(number(val))
    raise OperandTypeError(
        "an atomic operation needs an address",
        span=place(),
        found=with_article(type(ptr).__name__),
        expected="a Pointer",
        instead="`x.iterator + i` in place of `x[i]`",
    )


def _require(dtype: type[Numeric], operation: str, known: tuple[str, ...]) -> None:
    if dtype.__name__ not in known:
        raise OperandTypeError(
            f"there is no atomic {operation} of {dtype.__name__}",
            span=place(),
            found=dtype.__name__,
            expected=", ".join(known),
        )


def is_address(ptr: object) -> TypeGuard[Value]:
    """An MLIR value that is a pointer; what else a program gives may have a `type` of its own."""
    kind = getattr(ptr, "type", None)
    return kind is not None and is_pointer(kind)


def _as(dtype: type[Numeric], value: object) -> Value:
    return declared_number(value, dtype, f"an atomic operation on {dtype.__name__}").ir_value()


@device_function
def fence_acq_rel_cta() -> None:
    """Order memory operations as the threads of the block see them."""
    _fence("cta")


@device_function
def fence_acq_rel_cluster() -> None:
    """Order memory operations as the threads of the cluster see them."""
    _fence("cluster")


@device_function
def fence_acq_rel_gpu() -> None:
    """Order memory operations as all threads of the device see them."""
    _fence("gpu")


@device_function
def fence_acq_rel_sys() -> None:
    """Order memory operations as everybody sees them, the host included."""
    _fence("sys")


def _fence(scope: str) -> None:
    trace = device_trace()
    ordering = trace.builder.integer("i64", ACQUIRE_RELEASE)
    trace.operation("llvm.fence", attributes={"ordering": ordering, **scope_attributes(trace, scope)})
