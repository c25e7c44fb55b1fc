import triptych as tt
from triptych.cute.runtime import make_fake_tensor


@tt.jit
def clear(x):
    x[0] = 0


clear(make_fake_tensor(tt.Float32, (8,), (1,)))  # error: TT0646 at "clear("
