import triptych as tt
from triptych.cute.arch import inline_ptx


@tt.kernel
def k():
    inline_ptx("brkpt;", "", ())


@tt.jit
def host():
    k().launch(grid=1, block=1)


host()
