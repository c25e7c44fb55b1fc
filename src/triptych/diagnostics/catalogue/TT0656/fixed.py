import jax

import triptych as tt
import triptych.jax
from triptych import cute


@tt.jit
def double(x: cute.Tensor, y: cute.Tensor):
    for i in range(x.shape[0]):
        y[i] = x[i] * 2.0


call = triptych.jax.call(double, output_shape_dtype=lambda x: x)
jax.jit(lambda x: call(x))(jax.numpy.ones(4))
