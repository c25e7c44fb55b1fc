import torch

import triptych as tt
import triptych.testing
import triptych.torch
from triptych import cute


@tt.jit
def square(x: cute.Tensor, y: cute.Tensor):
    for i in range(x.shape[0]):
        y[i] = x[i] * x[i]


@tt.jit
def square_backward(x: cute.Tensor, grad_y: cute.Tensor, grad_x: cute.Tensor):
    for i in range(x.shape[0]):
        grad_x[i] = grad_y[i] * x[i] * 2.0


op = triptych.torch.op(square, "catalogue::square", out={"y": "x"}, backward=square_backward)
triptych.testing.check_op(op, torch.randn(4), quiet=True)
