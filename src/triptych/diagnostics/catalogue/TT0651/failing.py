import jax

import triptych as tt


@tt.jit
def total(x):
    sum = tt.Float32(0.0)
    for i in range(x.shape[0]):
        sum += x[i]
    return sum


jax.jit(lambda x: total(x))(jax.numpy.ones(4))
