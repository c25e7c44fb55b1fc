import triptych as tt
from triptych import cute


@tt.kernel
def fills(out: cute.Pointer, n: tt.Constexpr):
    for i in tt.range_constexpr(n):
        (out + i).store(i)


@tt.jit
def launches(out: cute.Pointer, n: tt.Int32):
    fills(out, n).launch(grid=1, block=1)  # error: TT0207 at "fills(out, n)"


launches(cute.runtime.make_ptr(tt.Int32, 64), 3)
