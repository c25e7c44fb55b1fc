"""A kernel, a `@jit` helper and a host function, which use helpers of another module."""

import triptych as tt
from triptych import cute

from . import helpers
from .helpers import Steps, Window, clamp


@tt.jit
def doubled_if(x: tt.Float32, chosen: tt.Boolean):
    if chosen:
        x = x + x
    return x


@tt.kernel
def clamped_kernel(x: cute.Tensor, window: tt.Constexpr):
    t, _, _ = cute.arch.thread_idx()
    value = x[t]
    if t < helpers.LIMIT:
        value = clamp(value, tt.Float32(-1.0), tt.Float32(1.0))
    if window.holds(t):
        value = doubled_if(value, value > 0.5)
        for step in Steps(window.width):
            value = value + step
    x[t] = value


@tt.jit
def clamped(x: cute.Tensor):
    clamped_kernel(x, Window(4, 12)).launch(grid=1, block=x.shape[0])
