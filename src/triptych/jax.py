"""JAX: calls made of `@jit` functions, and the public names of `cutlass.jax`. Importing this imports JAX."""

from __future__ import annotations

from triptych.frameworks.jax_arrays import TensorSpec, cutlass_to_jax_dtype
from triptych.frameworks.jax_calls import Call, call, cutlass_call, get_export_disabled_safety_checks

__all__ = [
    "Call",
    "TensorSpec",
    "call",
    "cutlass_call",
    "cutlass_to_jax_dtype",
    "get_export_disabled_safety_checks",
]


def __dir__() -> list[str]:
    return __all__
