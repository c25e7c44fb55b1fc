import triptych as tt
from triptych.cute.runtime import make_fake_tensor


@tt.jit
def f(x):
    pass


f(make_fake_tensor(tt.Float32, (8,), (1,)))
