"""Multi-GPU kernels that share memory: reductions by the switch between GPUs, and flags that they wait for.

`multimem` instructions go through an address that stands for the same place on all GPUs; only NVIDIA's have them.
"""

from __future__ import annotations

from typing import Any

from triptych.cute.arch.accesses import load
from triptych.cute.arch.atomics import atomic_add, atomic_cas
from triptych.cute.memory.pointers import Pointer
from triptych.cute.tracing.device import Integer, device_function, tracing
from triptych.frontends.ptx.inline import inline_ptx
from triptych.metastage.trace.errors import OperandTypeError
from triptych.metastage.trace.trace import place
from triptych.metastage.values.scalars import (
    BFloat16,
    Float8E4M3FN,
    Float8E5M2,
    Float16,
    Float32,
    Int32,
    Numeric,
)

__all__ = [
    "multimem_ld_reduce",
    "multimem_ld_reduce_4xf32",
    "multimem_red_add1",
    "multimem_st",
    "multimem_st_4xb32",
    "red_add1",
    "spin_lock_atom_cas_acquire_wait",
    "spin_lock_atom_cas_relaxed_wait",
    "spin_lock_ld_lt_relaxed_wait",
]

_SCOPES = ("cta", "cluster", "gpu", "sys")
_ORDERS = ("relaxed", "release")
_WORDS: dict[type[Numeric], str] = {
    Float32: "f32",
    Float16: "f16x2",
    BFloat16: "bf16x2",
    Float8E4M3FN: "e4m3x4",
    Float8E5M2: "e5m2x4",
}
"""What a word of 32 bits has, by the type of elements."""
_SUMS: dict[type[Numeric], str] = {
    Float16: ".acc::f32",
    BFloat16: ".acc::f32",
    Float8E4M3FN: ".acc::f16",
    Float8E5M2: ".acc::f16",
}
"""The precision that the switch adds in, where it is not that of the elements."""
_VECTORS = {1: "", 2: ".v2", 4: ".v4"}


def __dir__() -> list[str]:
    return __all__


@device_function
def multimem_ld_reduce_4xf32(mc_ptr: Pointer) -> tuple[Float32, Float32, Float32, Float32]:
    """Four numbers, each the sum of what all GPUs have there."""
    text = "multimem.ld_reduce.relaxed.sys.global.add.v4.f32 {$0, $1, $2, $3}, [$4];"
    found: tuple[Float32, Float32, Float32, Float32] = inline_ptx(text, "=f,=f,=f,=f,l", [mc_ptr], (Float32,) * 4)
    return found


@device_function
def multimem_ld_reduce(mc_ptr: Pointer, *, dtype: type[Numeric], num_elements: int) -> tuple[Int32, ...]:
    """Words of 32 bits with so many numbers, each the sum of what all GPUs have there."""
    count = num_elements * dtype.width // 32
    if dtype not in _WORDS or count not in _VECTORS or count * 32 != num_elements * dtype.width:
        raise OperandTypeError(
            "no switch adds up such numbers",
            span=place(),
            found=f"{num_elements} of {dtype.__name__}",
            expected=f"4, 8 or 16 bytes of {', '.join(kind.__name__ for kind in _WORDS)}",
        )
    words = ", ".join(f"${i}" for i in range(count))
    form = f"add{_SUMS.get(dtype, '')}{_VECTORS[count]}.{_WORDS[dtype]}"
    text = f"multimem.ld_reduce.relaxed.sys.global.{form} {f'{{{words}}}' if count > 1 else words}, [${count}];"
    found = inline_ptx(text, ",".join(["=r"] * count + ["l"]), [mc_ptr], (Int32,) * count if count > 1 else Int32)
    return found if isinstance(found, tuple) else (found,)


@device_function
def multimem_st(mc_ptr: Pointer, *words: Numeric) -> None:
    """Write words of 32 bits at the same place of all GPUs."""
    if len(words) not in _VECTORS:
        raise OperandTypeError(
            "no store writes so many words", span=place(), found=str(len(words)), expected="1, 2 or 4"
        )
    given = ", ".join(f"${i + 1}" for i in range(len(words)))
    text = (
        f"multimem.st.relaxed.sys.global{_VECTORS[len(words)]}.f32 [$0], {f'{{{given}}}' if len(words) > 1 else given};"
    )
    inline_ptx(text, ",".join(["l"] + ["f"] * len(words)), [mc_ptr, *(_float_bits(each) for each in words)])


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


@device_function
def spin_lock_ld_lt_relaxed_wait(lock_ptr: Pointer, *, expected_val: Integer, scope: str) -> None:
    """Wait while a flag is less than a value."""
    _check("scope", scope, _SCOPES)

    def is_less() -> Any:
        return load(lock_ptr, lock_ptr.dtype, sem="relaxed", scope=scope) < expected_val

    tracing().hooks.while_(is_less, lambda: None, exits=())


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
