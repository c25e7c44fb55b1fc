import triptych as tt
from triptych import cute
from triptych.cute.runtime import make_fake_tensor


@tt.jit
def f(x, y):
    pass


n = cute.sym_int()
tt.compile(f, make_fake_tensor(tt.Float32, (n // 2,), (1,)), make_fake_tensor(tt.Float32, (n,), (1,)))
