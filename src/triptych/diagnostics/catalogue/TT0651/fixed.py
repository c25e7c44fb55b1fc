import jax
import numpy as np

import triptych as tt
import triptych.jax


@tt.jit
def total(x, result):
    sum = tt.Float32(0.0)
    for i in range(x.shape[0]):
        sum += x[i]
    result[0] = sum


total_call = triptych.jax.call(total, output_shape_dtype=jax.ShapeDtypeStruct((1,), np.float32))
jax.jit(lambda x: total_call(x))(jax.numpy.ones(4))
