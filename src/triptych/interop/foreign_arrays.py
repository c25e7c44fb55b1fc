"""Array interfaces that NumPy reads without copying: JAX, `array.array`, `memoryview`, `__array_interface__`.

As NumPy arrays compiled code reads them itself. JAX's own way, DLPack, takes ten times as long, and the other kinds
have no way but this one.
"""

from __future__ import annotations

import array
import sys
from functools import cache
from inspect import getattr_static
from typing import Any

from triptych.diagnostics.tensor_errors import TracedByJaxError
from triptych.support.forking import import_late

_BUFFERS = (array.array, memoryview)
_INTERFACE = "__array_interface__"
_CUDA_INTERFACE = "__cuda_array_interface__"


# Any: what offers memory is asked of its class; so in all of this file.
def is_foreign_array(value: Any) -> bool:
    """Whether it is such an object, and no tensor by another protocol. An interface may be an object's own."""
    if isinstance(value, _BUFFERS) or _has_platform(type(value)):
        return True
    if hasattr(type(value), "__dlpack__") or _is_number(value):
        return False
    return isinstance(getattr(value, _INTERFACE, None), dict)  # a proxy of torch's has whatever it is asked for


def offers_array(kind: type) -> bool:
    """Whether all objects of a class are such."""
    return (
        issubclass(kind, _BUFFERS)
        or _has_platform(kind)
        or (hasattr(kind, _INTERFACE) and not hasattr(kind, "__dlpack__"))
    )


def foreign_array(value: Any) -> Any:
    """The memory as a NumPy array; BufferError for arrays of JAX that lie elsewhere, which have DLPack."""
    check_no_tracer(value)
    if _has_platform(type(value)) and (value.platform() != "cpu" or not value.is_fully_addressable):
        raise BufferError(f"the array lies on {value.platform()}")
    return _numpy().asarray(value)


def advice(value: object) -> str:
    """What to write for an object that offers its memory by a protocol that is not read; empty for all others."""
    if getattr_static(value, _CUDA_INTERFACE, None) is None:
        return ""
    return (
        f"`cupy.asarray(x)` or `torch.as_tensor(x, device='cuda')`: they share the memory that `{_CUDA_INTERFACE}` "
        "describes, and offer it by DLPack (`__dlpack__`)"
    )


@cache
def _numpy() -> Any:
    return import_late("numpy")


def is_jax(kind: type) -> bool:
    """Whether it is a class of JAX's arrays, which never change; JAX is not imported for the question."""
    return kind.__module__.partition(".")[0] == "jaxlib"


def _has_platform(kind: type) -> bool:
    """Whether arrays of a class of JAX say where they are."""
    return is_jax(kind) and hasattr(kind, "platform")


def check_no_tracer(value: object) -> None:
    """Refuse what stands for an array while JAX traces."""
    core: Any = sys.modules.get("jax.core")
    if core is None or not isinstance(value, core.Tracer):
        return
    raise TracedByJaxError(
        "a transform of JAX (jit, grad, vmap …) is tracing, and cannot see what this call does",
        found=f"a {type(value).__name__}, which stands for {value.aval!s}",
        expected="an array with memory",
        instead="`triptych.jax.call(function, output_shape_dtype=jax.ShapeDtypeStruct(shape, dtype))(x)`, where the "
        "function writes what it computes to a parameter behind its inputs",
    )


def _is_number(value: Any) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.generic)
