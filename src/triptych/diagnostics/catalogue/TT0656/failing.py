import jax
import numpy as np

call = jax.ffi.ffi_call("triptych_call", jax.ShapeDtypeStruct((4,), np.float32))
jax.jit(lambda x: call(x, program="what another process has exported"))(jax.numpy.ones(4))
