import triptych as tt
from triptych import cute


@tt.kernel
def k():
    cute.arch.inline_ptx("{ .reg .b32 t; mov.b32 t, 1; pmevent 1; }", "", ())  # error: TT0518 at "cute.arch.inline_ptx"


@tt.jit
def host():
    k().launch(grid=1, block=1)


host()
