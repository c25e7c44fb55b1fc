"""Multi-GPU kernels that share memory: reductions by the switch between GPUs, and flags that they wait for.

`multimem` instructions go through an address that stands for the same place on all GPUs; only NVIDIA's have them.
"""

from __future__ import annotations

from typing import Any

from triptych.cute.arch.atomics import atomic_add, atomic_cas
from triptych.cute.memory.pointers import Pointer
from triptych.cute.tracing.device import Integer, device_function, tracing
from triptych.frontends.ptx.inline import inline_ptx
from triptych.metastage.trace.errors import OperandTypeError
from triptych.metastage.trace.trace import place
from triptych.metastage.values.scalars import Float32, Numeric

__all__ = [
    "multimem_ld_reduce_4xf32",
    "multimem_red_add1",
    "multimem_st_4xb32",
    "red_add1",
    "spin_lock_atom_cas_acquire_wait",
    "spin_lock_atom_cas_relaxed_wait",
]

_SCOPES = ("cta", "cluster", "gpu", "sys")
_ORDERS = ("relaxed", "release")


def __dir__() -> list[str]:
    return __all__


@device_function
def multimem_ld_reduce_4xf32(mc_ptr: Pointer) -> tuple[Float32, Float32, Float32, Float32]:
    """Four numbers, each the sum of what all GPUs have there."""
    text = "multimem.ld_reduce.relaxed.sys.global.add.v4.f32 {$0, $1, $2, $3}, [$4];"
    found: tuple[Float32, Float32, Float32, Float32] = inline_ptx(text, "=f,=f,=f,=f,l", [mc_ptr], (Float32,) * 4)
    return found


@device_function
def multimem_st_4xb32(mc_ptr: Pointer, x: Numeric, y: Numeric, z: Numeric, w: Numeric) -> None:
    """Write four numbers of 32 bits at the same place of all GPUs."""
    text = "multimem.st.relaxed.sys.global.v4.f32 [$0], {$1, $2, $3, $4};"
    inline_ptx(text, "l,f,f,f,f", [mc_ptr, *(_float_bits(each) for each in (x, y, z, w))])


def _float_bits(value: Numeric) -> Numeric:
    return value if value.info.kind == "float" else value.bitcast(Float32)


@device_function
def multimem_red_add1(lock_ptr: Pointer, *, scope: str, order: str) -> None:
    """Add 1 to a flag on all GPUs."""
    _check("scope", scope, _SCOPES)
    _check("order", order, _ORDERS)
    inline_ptx(f"multimem.red.{order}.{scope}.global.add.u32 [$0], 1;", "l", [lock_ptr])


@device_function
def red_add1(lock_ptr: Pointer, *, scope: str, order: str) -> None:
    """Add 1 to a flag."""
    _check("scope", scope, _SCOPES)
    _check("order", order, _ORDERS)
    atomic_add(lock_ptr, 1, sem=order, scope=scope)


@device_function
def spin_lock_atom_cas_relaxed_wait(
    lock_ptr: Pointer, *, expected_val: Integer, reset_val: Integer, scope: str
) -> None:
    """Wait until a flag has a value, and give it another at once."""
    _wait(lock_ptr, expected_val, reset_val, "relaxed", scope)


@device_function
def spin_lock_atom_cas_acquire_wait(
    lock_ptr: Pointer, *, expected_val: Integer, reset_val: Integer, scope: str
) -> None:
    """The same, after which what others wrote before the flag is there to be read."""
    _wait(lock_ptr, expected_val, reset_val, "acquire", scope)


def _wait(lock_ptr: Pointer, expected: Integer, reset: Integer, order: str, scope: str) -> None:
    _check("scope", scope, _SCOPES)

    def is_missing() -> Any:
        return atomic_cas(lock_ptr, cmp=expected, val=reset, sem=order, scope=scope) != expected

    tracing().hooks.while_(is_missing, lambda: None, exits=())


def _check(what: str, given: str, allowed: tuple[str, ...]) -> None:
    if given not in allowed:
        raise OperandTypeError(
            f"there is no such {what}", span=place(), found=repr(given), expected=f"one of {', '.join(allowed)}"
        )
