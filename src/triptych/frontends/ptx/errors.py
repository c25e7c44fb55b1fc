"""What can be wrong with inline PTX."""

from __future__ import annotations

from triptych.support.errors import TriptychError


class NoPtxMeaningError(TriptychError, NotImplementedError):
    """Inline PTX has an instruction that only NVIDIA's GPUs execute, and nobody has said what it means elsewhere."""

    code = "TT0518"
    failing = """
from triptych import cute
from triptych.cute.arch import inline_ptx

@tt.kernel
def k():
    inline_ptx("brkpt;", "", ())

@tt.jit
def host():
    k().launch(grid=1, block=1)

host()
"""
    fixed = """
from triptych import cute
from triptych.cute.arch import inline_ptx

@cute.register_ptx_meaning("brkpt")
def nothing() -> None:
    pass

@tt.kernel
def k():
    inline_ptx("brkpt;", "", ())

@tt.jit
def host():
    k().launch(grid=1, block=1)

host()
"""
