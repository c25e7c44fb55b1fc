"""A program as users write them. A comment after a line is what a type checker says there: `reveal` or an error."""

from collections.abc import Callable
from typing import Protocol

import numpy as np

import triptych as tt
import triptych.cute as cute
from triptych import testing, utils
from triptych.cute import nvgpu
from triptych.cute.runtime import from_dlpack

# names ------------------------------------------------------------------------------------------------------------
tt.nonexistent  # error: attr-defined
cute.nonexistent  # error: attr-defined
cute.arch.nonexistent  # error: attr-defined
cute.math.nonexistent  # error: attr-defined
utils.nonexistent  # error: attr-defined
tt.cute.make_layout  # known
tt.layout.Layout.parse("(4,8):(8,1)")  # known


# numbers ----------------------------------------------------------------------------------------------------------
def numbers(i: tt.Int32, l: tt.Int64, u: tt.Uint8, f: tt.Float32, h: tt.Float16, b: tt.Boolean) -> None:
    reveal_type(i + 1)  # Int32
    reveal_type(i + l)  # Int64
    reveal_type(i * 0.5)  # Float32
    reveal_type(i * h)  # Float16
    reveal_type(h + f)  # Float32
    reveal_type(i / 2)  # Float32
    reveal_type(l / i)  # Float64
    reveal_type(u + i)  # Int32
    reveal_type(u << 3)  # Uint8
    reveal_type(i // l)  # Int64
    reveal_type(b + b)  # Int32
    reveal_type(b & b)  # Boolean
    reveal_type(b & True)  # Boolean
    reveal_type(i < f)  # Boolean
    reveal_type(i == 3)  # Boolean
    reveal_type(-b)  # Int32
    reveal_type(abs(f))  # Float32
    reveal_type(~u)  # Uint8
    reveal_type(i**2)  # Int32
    reveal_type(i.to(tt.Float64))  # Float64
    reveal_type(i.to(float))  # Float32
    reveal_type(f.bitcast(tt.Int32))  # Int32
    reveal_type(i.dtype)  # type[Int32]
    reveal_type(tt.Float32.width)  # int
    f & 1  # error: operator
    f << 1  # error: operator
    i + "1"  # error: operator
    i.too(tt.Int64)  # error: attr-defined
    total = 0
    for k in range(i):  # Python's loop over run-time bounds
        total += k
        total = total + i  # a Python number may become one of the run


# kernels ----------------------------------------------------------------------------------------------------------
@tt.kernel
def normalize_row(x: cute.Tensor, y: cute.Tensor, scale: tt.Float32) -> None:
    reveal_type(cute.arch.thread_idx())  # tuple[Int32, Int32, Int32]
    lane, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    reveal_type(x.shape)  # tuple[Any, ...] | Any
    reveal_type(cute.arch.lane_idx())  # Int32
    total = tt.Float32(0.0)
    for i in range(lane, x.shape[1], 32):
        total += x[row, i]
    total = cute.arch.warp_reduction_sum(total)
    reveal_type(cute.arch.warp_reduction_max(total))  # Float32
    reveal_type(cute.arch.shuffle_sync(lane, 0))  # Int32
    reveal_type(cute.math.exp(total))  # Float32
    reveal_type(cute.math.sqrt(2.0))  # float
    reveal_type(cute.math.floor(x.load()))  # TensorSSA
    reveal_type(x.load() * 2 + total)  # TensorSSA
    reveal_type(2.0 / x.load())  # TensorSSA
    reveal_type(x.load().to(tt.Float16))  # TensorSSA
    reveal_type(cute.all_(x.load() > 0))  # Boolean
    reveal_type(cute.make_rmem_tensor((4,), tt.Float32))  # Tensor
    reveal_type(cute.local_tile(x, (8, 4), (lane, 0)))  # Tensor
    reveal_type(cute.zipped_divide(x, (8, 4)))  # Tensor
    reveal_type(x[None, 0])  # Any
    value: tt.Float32 = x[row, lane]  # of the type that the program takes it for
    total += value + cute.make_identity_tensor((4, 8))[0, 1][1]  # or a coordinate
    cute.make_rmem_tensor("four", tt.Float32)  # error: arg-type
    y[row, lane] = cute.math.rsqrt(total * scale)
    cute.arch.sync_threads(3)  # error: call-arg


# layouts ----------------------------------------------------------------------------------------------------------
def layouts(n: tt.Int32) -> None:
    layout = cute.make_layout((n, 4), stride=(4, 1))
    reveal_type(layout)  # Layout
    reveal_type(cute.coalesce(layout))  # Layout
    reveal_type(cute.composition(layout, cute.make_layout((2, 2))))  # Layout
    reveal_type(cute.rank(layout))  # int
    reveal_type(layout.shape[0])  # Any
    cute.make_layout((4, 8), strides=(1, 4))  # error: call-arg
    cute.make_layout(4.5)  # error: arg-type
    cute.make_swizzle(2, 0, 3)


# hosts ------------------------------------------------------------------------------------------------------------
@tt.jit
def normalize(x: cute.Tensor, y: cute.Tensor, rows: tt.Constexpr[int] = 1) -> None:
    reveal_type(rows)  # int
    reveal_type(normalize_row(x, y, 1.0))  # KernelLaunch
    normalize_row(x, y, 1.0).launch(grid=x.shape[0], block=[32, 1, 1], smem=0)
    normalize_row(x, y, 1.0).launch(grid=1, block=32, shmem=0)  # error: call-arg


@tt.jit(opt_level=1)
def add(a: tt.Int32, b: tt.Int32):
    return a + b


class Sum(Protocol):
    """How Python calls `add`: what a type checker knows of it is what is written here."""

    def __call__(self, a: int, b: int) -> int: ...


class Scaled:
    factor = 2

    @tt.kernel
    def kernel(self, x: cute.Tensor) -> None:
        x[0] = self.factor

    @tt.jit
    def __call__(self, x: cute.Tensor) -> None:
        self.kernel(x).launch(grid=1, block=1)
        self.kernel(x).lunch(grid=1)  # error: attr-defined


a = np.ones((4, 8), np.float32)
normalize(a, a)
Scaled()(a)
reveal_type(normalize)  # JitFunction
reveal_type(normalize_row)  # KernelFunction
reveal_type(add)  # JitFunction
sum_of: Sum = add
reveal_type(sum_of(1, b=2))  # int
sum_of(1)  # error: call-arg
sum_of(1, 2, 3)  # error: call-arg
sum_of(1, c=2)  # error: call-arg
sum_of("1", 2)  # error: arg-type
doubled: Callable[[int, int], int] = add
doubled(1)  # error: call-arg
sums: list[tt.JitFunction] = [add, normalize]
compiled = tt.compile(normalize, a, a, target="nvptx:sm_90", opt_level=2)
reveal_type(compiled)  # CompiledFunction
reveal_type(compiled.mlir)  # str
reveal_type(compiled.__ptx__)  # str
reveal_type(tt.compile[cute.OptLevel(1)](add, 1, 2))  # CompiledFunction
tt.compile(add, 1, 2, opt_level="3")  # error: arg-type
reveal_type(from_dlpack(a).mark_layout_dynamic())  # RuntimeTensor
reveal_type(testing.benchmark(normalize, kernel_arguments=testing.JitArguments(a, a)))  # float
reveal_type(cute.make_copy_atom(nvgpu.CopyUniversalOp(), tt.Float32))  # CopyAtom
print(add(1, 2) + 1)


@cute.struct
class Storage:
    rows: cute.struct.MemRange[tt.Float32, 32]
    aligned: cute.struct.Align[cute.struct.MemRange[tt.Float16, 8], 128]
