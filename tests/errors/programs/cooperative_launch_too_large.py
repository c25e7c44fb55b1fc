"""More blocks than can run at the same time, in a launch whose blocks wait for each other."""

import triptych as tt


@tt.kernel
def meet():
    pass


@tt.jit
def host(blocks: tt.Int32):
    meet().launch(grid=blocks, block=128, cooperative=True)  # error: TT0625 at "meet().launch"


host(10_000)
