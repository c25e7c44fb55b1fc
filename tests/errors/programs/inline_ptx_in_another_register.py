import triptych as tt
from triptych import cute


@tt.kernel
def k(x: tt.Float32):
    cute.arch.inline_ptx("neg.f32 $0, $1;", "=f,d", (x,), tt.Float32)  # error: TT0301 at "cute.arch.inline_ptx"


@tt.jit
def host(x: tt.Float32):
    k(x).launch(grid=1, block=1)


host(1.0)
