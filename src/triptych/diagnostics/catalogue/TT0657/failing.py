import triptych as tt
import triptych.torch
from triptych import cute


@tt.jit
def double(x: cute.Tensor, y: cute.Tensor):
    for i in range(x.shape[0]):
        y[i] = x[i] * 2.0


op = triptych.torch.op(double, "catalogue::doubled", out={"y": "x"})
triptych.torch.export("libdouble.so", [op])
