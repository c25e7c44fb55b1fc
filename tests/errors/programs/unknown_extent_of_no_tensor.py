import triptych as tt
from triptych import cute
from triptych.cute.runtime import make_fake_tensor


@tt.jit
def clear(x):
    x[0] = 0


n = cute.sym_int(symbol="n")
fake = make_fake_tensor(tt.Float32, (n // 2,), (1,))
tt.compile(clear, fake)  # error: TT0645 at "tt.compile"
