"""What can be wrong with a tensor that is passed to compiled code."""

from __future__ import annotations

from triptych.support.errors import TriptychError
from triptych.support.source import Span


class UnsupportedTensorError(TriptychError, TypeError):
    """An object whose memory compiled code cannot use: no DLPack, complex numbers, another byte order …"""

    code = "TT0640"
    failing = """
import numpy as np

@tt.jit
def clear(x):
    x[0] = 0

clear(np.zeros(4, np.complex64))
"""
    fixed = """
import numpy as np

@tt.jit
def clear(x):
    x[0] = 0

clear(np.zeros(4, np.float32))
"""


class ArgumentTensorTypeError(TriptychError, TypeError):
    """A tensor with elements of another type, or with another number of modes, than the function was compiled for."""

    code = "TT0641"
    failing = """
import numpy as np

@tt.jit
def clear(x):
    x[0] = 0

tt.compile(clear, np.zeros(4, np.float32))(np.zeros(4, np.float64))
"""
    fixed = """
import numpy as np

@tt.jit
def clear(x):
    x[0] = 0

tt.compile(clear, np.zeros(4, np.float32))(np.zeros(9, np.float32))
"""


class ArgumentTensorError(TriptychError, ValueError):
    """A tensor with another shape, stride, alignment or device than the function was compiled for."""

    code = "TT0642"
    failing = """
import numpy as np
from triptych.cute.runtime import from_dlpack

@tt.jit
def clear(x):
    x[0] = 0

tt.compile(clear, from_dlpack(np.zeros(4)))(np.zeros(5))
"""
    fixed = """
import numpy as np
from triptych.cute.runtime import from_dlpack

@tt.jit
def clear(x):
    x[0] = 0

tt.compile(clear, from_dlpack(np.zeros(4)).mark_layout_dynamic())(np.zeros(5))
"""


class ReadOnlyTensorError(TriptychError, ValueError):
    """A read-only tensor is passed to a function that may write to it."""

    code = "TT0643"
    failing = """
import numpy as np

@tt.jit
def clear(x):
    x[0] = 0

clear(np.broadcast_to(np.zeros(1), 4))
"""
    fixed = """
import numpy as np

@tt.jit
def clear(x):
    x[0] = 0

clear(np.broadcast_to(np.zeros(1), 4).copy())
"""


def read_only_argument(path: str, value: object, span: Span | None) -> ReadOnlyTensorError:
    """The error of an argument that the function may write to, at the call."""
    return ReadOnlyTensorError(
        f"argument {path!r} is read-only, and the function may write to it",
        span=span,
        found=f"a read-only {type(value).__name__}",
        expected="memory that may be written to",
        instead="a copy",
    )


class TracedByTorchError(TriptychError, RuntimeError):
    """A tracer of torch is recording: the call would happen now, once, and be missing from what was recorded."""

    code = "TT0649"
    failing = """
import torch
from torch.fx.experimental.proxy_tensor import make_fx

@tt.jit
def double(x):
    for i in range(x.shape[0]):
        x[i] = x[i] * 2

def f(x):
    y = x + 1
    double(y)
    return y

make_fx(f)(torch.zeros(4))
"""
    fixed = """
import torch
from torch.fx.experimental.proxy_tensor import make_fx

@tt.jit
def double(x):
    for i in range(x.shape[0]):
        x[i] = x[i] * 2

@torch.library.custom_op("mine::double", mutates_args={"x"})
def double_op(x: torch.Tensor) -> None:
    double(x)

def f(x):
    y = x + 1
    double_op(y)
    return y

make_fx(f)(torch.zeros(4))
"""


class TracedByJaxError(TriptychError, TypeError):
    """A transform of JAX is tracing: what it gives stands for an array and has no memory."""

    code = "TT0651"
    failing = """
import jax

@tt.jit
def total(x):
    sum = tt.Float32(0.0)
    for i in range(x.shape[0]):
        sum += x[i]
    return sum

jax.jit(lambda x: total(x))(jax.numpy.ones(4))
"""
    fixed = """
import jax
import numpy as np

@tt.jit
def total(x):
    sum = tt.Float32(0.0)
    for i in range(x.shape[0]):
        sum += x[i]
    return sum

result = jax.ShapeDtypeStruct((), np.float32)
jax.jit(lambda x: jax.pure_callback(lambda x: np.float32(total(np.asarray(x))), result, x))(jax.numpy.ones(4))
"""
