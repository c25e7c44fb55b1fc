import triptych as tt
from triptych import cute


@tt.kernel
def k():
    cute.printf("%d", threadIdx.x)


@tt.jit
def f():
    k().launch(grid=1, block=1)


f()
