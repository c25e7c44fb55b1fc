import numpy as np

import triptych as tt
from triptych import cute
from triptych.support.config import override


@tt.jit
def f(address: tt.Int64):
    return cute.make_tensor(cute.make_ptr(tt.Float32, address), cute.make_layout((4,)))[0]


numbers = np.zeros(4, np.float32)
with override(debug="bounds"):
    f(numbers.ctypes.data)
