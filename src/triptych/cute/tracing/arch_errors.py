"""What can be wrong with the use of the machine's own functions."""

from __future__ import annotations

from triptych.support.errors import TriptychError


class DeviceOnlyError(TriptychError, RuntimeError):
    """A function of the device is called where no kernel is being traced: there are no threads there."""

    code = "TT0405"
    failing = """
from triptych import cute

@tt.jit
def host():
    i, _, _ = cute.arch.thread_idx()
    tt.printf("%d", i)

host()
"""
    fixed = """
from triptych import cute

@tt.kernel
def k():
    i, _, _ = cute.arch.thread_idx()
    tt.printf("%d", i)

@tt.jit
def host():
    k().launch(grid=1, block=1)

host()
"""
