import triptych as tt
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
