import numpy as np

import triptych as tt
from triptych import cute
from triptych.cute.runtime import make_fake_compact_tensor


@tt.jit
def add(a, b):
    b[0] = a[0]


n = cute.sym_int(divisibility=2)
fake = make_fake_compact_tensor(tt.Float32, (n,))
twice = make_fake_compact_tensor(tt.Float32, (2 * n,))
compiled = tt.compile(add, fake, twice)
compiled(np.zeros(4, np.float32), np.zeros(6, np.float32))  # error: TT0642 at "compiled("
