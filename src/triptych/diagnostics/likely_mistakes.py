"""Likely mistakes of people who know NumPy, PyTorch, CUDA C++ or Triton, and what to write here.

One table for each thing that a program can be mistaken about. A test runs what the tables recommend.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from triptych.support.errors import TriptychError
from triptych.support.source import Span
from triptych.support.tracebacks import caller
from triptych.support.wording import nearest


class MissingAttributeError(TriptychError, AttributeError):
    """A tensor, a number or a module has no such attribute; arrays of other libraries may have it."""

    code = "TT0310"


_REDUCED = (
    "`x.load().reduce(cute.ReductionOp.{op}, {start}, 0)` of a tensor of static shape, or a loop over its elements"
)
_RESHAPED = "`cute.make_tensor(x.iterator, cute.make_layout(shape, stride=...))`, the same memory under another layout"
_TURNED = "`cute.make_tensor(x.iterator, cute.select(x.layout, mode=[1, 0]))`, the same memory with its modes exchanged"
_CONVERTED = "`x.load().to(Float32)` of a tensor of static shape, or `x[i].to(Float32)` of an element"
_COPIED = "`cute.autovec_copy(x, y)` into a tensor `y` of the same shape"
_MOVED = "nothing: the arrays that a call is given say where they are"

TENSORS = {
    **dict.fromkeys(("size", "numel", "nelement"), "`cute.size(x)`, or `cute.size(x, mode=[0])` for one mode"),
    **dict.fromkeys(("ndim", "dim", "ndimension", "rank"), "`cute.rank(x)`"),
    **dict.fromkeys(("T", "mT", "H", "transpose", "permute", "swapaxes", "t", "movedim"), _TURNED),
    **dict.fromkeys(("reshape", "view", "flatten", "ravel", "squeeze", "unsqueeze", "expand", "view_as"), _RESHAPED),
    **{
        name: _REDUCED.format(op=op, start=start)
        for name, op, start in (
            ("sum", "ADD", 0.0),
            ("mean", "ADD", 0.0),
            ("prod", "MUL", 1.0),
            ("max", "MAX", "first"),
            ("amax", "MAX", "first"),
            ("min", "MIN", "first"),
            ("amin", "MIN", "first"),
        )
    },
    **dict.fromkeys(("astype", "float", "half", "bfloat16", "double", "int", "long", "bool", "type_as"), _CONVERTED),
    **dict.fromkeys(("copy", "clone", "copy_", "contiguous"), _COPIED),
    **dict.fromkeys(("zero_", "fill_"), "`x.fill(0.0)`"),
    **dict.fromkeys(("item", "tolist"), "`x[i]`, an element"),
    **dict.fromkeys(("strides", "stride_"), "`x.stride`"),
    **dict.fromkeys(("data_ptr", "data", "ctypes", "ptr"), "`x.iterator`, a pointer"),
    **dict.fromkeys(("cuda", "cpu", "numpy", "device", "get_device"), _MOVED),
    **dict.fromkeys(("nbytes", "itemsize", "element_size"), "`cute.size_in_bytes(x.element_type, x.layout)`"),
    **dict.fromkeys(("exp", "sqrt", "sin", "cos", "tanh", "log", "abs"), "`cute.math.exp(x.load())` and its like"),
    **dict.fromkeys(("matmul", "mm", "bmm", "dot"), "`cute.gemm(atom, d, a, b, c)`, or a loop"),
    "append": "`x[i] = value`: a tensor keeps its size",
}
"""Attributes of arrays that tensors do not have."""

TENSOR_VALUES = {
    **dict.fromkeys(("ndim", "dim"), "`cute.rank(v.shape)`"),
    **dict.fromkeys(("numel", "nelement"), "`v.size`"),
    **{
        name: f"`v.reduce(cute.ReductionOp.{op}, {start}, 0)`"
        for name, op, start in (
            ("sum", "ADD", 0.0),
            ("prod", "MUL", 1.0),
            ("max", "MAX", "first"),
            ("min", "MIN", "first"),
        )
    },
    "mean": "`v.reduce(cute.ReductionOp.ADD, 0.0, 0) / v.size`",
    **dict.fromkeys(("astype", "float", "half"), "`v.to(Float32)`"),
    **dict.fromkeys(("exp", "sqrt", "sin", "cos", "tanh", "log"), "`cute.math.exp(v)` and its like"),
    **dict.fromkeys(("store", "fill", "copy_"), "`x.store(v)`, where `x` is a tensor in memory"),
}
"""Attributes of arrays that tensor values, which `.load()` gives, do not have."""

NUMBERS = {
    **dict.fromkeys(("astype", "type", "float", "half", "long"), "`x.to(Float32)`"),
    **dict.fromkeys(("item", "tolist"), "`x` itself: it is one number"),
    **dict.fromkeys(("real", "conjugate"), "`x` itself: complex numbers are not compiled"),
    "imag": "two numbers, the real and the imaginary part",
    "bit_length": "a loop that shifts: `while x > 0: x >>= 1; n += 1`",
    "bit_count": "`cute.arch.popc(x)`",
    **dict.fromkeys(("shape", "size", "ndim", "dim"), "`x` itself: it is one number, not a tensor"),
    **dict.fromkeys(("x", "y", "z"), "`tidx, tidy, tidz = cute.arch.thread_idx()`: the three numbers by position"),
    **{name: f"`cute.math.{name}(x)`" for name in ("exp", "sqrt", "sin", "cos", "tanh", "log")},
}
"""Attributes of Python's and NumPy's numbers that run-time numbers do not have."""

_SAME_NAMES = """
    acos acosh asin asinh atan atan2 atanh cbrt ceil clamp copysign cos cosh erf erfc exp exp2 expm1 floor fma isfinite
    isinf isnan log log10 log1p log2 round rsqrt sin sincos sinh sqrt tan tanh trunc
"""
MATHEMATICS = {
    **{name: f"`cute.math.{name}`" for name in _SAME_NAMES.split()},
    **dict.fromkeys(("fabs", "absolute", "abs"), "`abs(x)`"),
    **dict.fromkeys(("fmod", "fmax", "fmin"), "`cute.math.rem`, `cute.math.max` or `cute.math.min`"),
    **dict.fromkeys(("maximum", "max", "amax"), "`max(a, b)` of numbers, `cute.math.max(a, b)` of tensor values"),
    **dict.fromkeys(("minimum", "min", "amin"), "`min(a, b)` of numbers, `cute.math.min(a, b)` of tensor values"),
    **{f"arc{name}": f"`cute.math.a{name}`" for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    "arctan2": "`cute.math.atan2`",
    **dict.fromkeys(("power", "float_power", "pow"), "`x ** y`"),
    "square": "`x * x`",
    "sigmoid": "`1.0 / (1.0 + cute.math.exp(-x))`",
    "relu": "`max(x, 0.0)`",
    **dict.fromkeys(("hypot", "dist"), "`cute.math.sqrt(x * x + y * y)`"),
    **dict.fromkeys(("rint", "around"), "`cute.math.roundeven`"),
    "fix": "`cute.math.trunc`",
    "isclose": "`abs(x - y) < 1e-6`",
    "ldexp": "`x * 2.0 ** n`",
    "modf": "`cute.math.trunc(x)` and `x - cute.math.trunc(x)`",
    **dict.fromkeys(("radians", "deg2rad"), "`x * (math.pi / 180)`"),
    **dict.fromkeys(("degrees", "rad2deg"), "`x * (180 / math.pi)`"),
    "where": "`a if condition else b` of numbers, `cute.where(condition, a, b)` of tensor values",
    **dict.fromkeys(("sum", "fsum", "add.reduce"), "`x.load().reduce(cute.ReductionOp.ADD, 0.0, 0)`, or a loop"),
    **dict.fromkeys(("dot", "matmul"), "`cute.gemm(atom, d, a, b, c)`, or a loop"),
    **dict.fromkeys(
        ("gcd", "lcm", "factorial", "comb", "perm", "isqrt", "prod", "frexp", "nextafter", "ulp"), "a loop"
    ),
    **dict.fromkeys(("gamma", "lgamma", "remainder", "sumprod"), "a loop, or a formula"),
    **dict.fromkeys(("zeros_like", "ones_like", "full_like", "empty_like"), "`cute.make_rmem_tensor_like(x)`"),
    **dict.fromkeys(("shape", "size", "ndim"), "`x.shape`, `cute.size(x)`, `cute.rank(x)`"),
    **dict.fromkeys(("array", "asarray", "copy"), "the tensor itself, or `cute.autovec_copy(x, y)`"),
    **dict.fromkeys(("transpose", "swapaxes", "moveaxis"), _TURNED),
    **dict.fromkeys(("reshape", "ravel"), _RESHAPED),
    "concatenate": "stores to the parts of one tensor",
}
"""Functions of `math`, NumPy and PyTorch by their names."""

NAMES = {
    "threadIdx": "`tidx, tidy, tidz = cute.arch.thread_idx()`",
    "blockIdx": "`bidx, bidy, bidz = cute.arch.block_idx()`",
    "blockDim": "`cute.arch.block_dim()[0]`",
    "gridDim": "`cute.arch.grid_dim()[0]`",
    "warpSize": "`cute.arch.WARP_SIZE`",
    "laneid": "`cute.arch.lane_idx()`",
    **dict.fromkeys(("__syncthreads", "syncthreads"), "`cute.arch.sync_threads()`"),
    **dict.fromkeys(("__syncwarp", "syncwarp"), "`cute.arch.sync_warp()`"),
    **dict.fromkeys(("__threadfence", "threadfence"), "`cute.arch.fence_acq_rel_gpu()`"),
    **dict.fromkeys(("__shared__", "shared_array"), "`cute.SmemAllocator().allocate_tensor(dtype, layout)`"),
    **dict.fromkeys(("atomicAdd", "atomic_add"), "`cute.arch.atomic_add(x.iterator + i, value)`"),
    **dict.fromkeys(
        ("atomicMax", "atomicMin", "atomicCAS", "atomicExch"), "`cute.arch.atomic_max(x.iterator + i, value)`"
    ),
    **dict.fromkeys(("__shfl_sync", "__shfl_down_sync", "shfl_down"), "`cute.arch.shuffle_sync_down(value, offset=1)`"),
    **dict.fromkeys(("__shfl_xor_sync", "shfl_xor"), "`cute.arch.shuffle_sync_bfly(value, offset=1)`"),
    **dict.fromkeys(("__ballot_sync", "__any_sync", "__all_sync"), "`cute.arch.vote_ballot_sync(condition)`"),
    **dict.fromkeys(("tl", "triton"), "`x[i]` to load and `x[i] = value` to store, by the thread's own index"),
    "__global__": "`@tt.kernel`",
    "__device__": "a plain Python function, which is inlined",
    "constexpr": "`n: tt.Constexpr`",
    **dict.fromkeys(("float32", "float16", "float64", "bfloat16"), "`tt.Float32` and its like"),
    **dict.fromkeys(("int32", "int64", "int8", "uint8", "uint32"), "`tt.Int32` and its like"),
    **dict.fromkeys(("xrange",), "`range(n)`"),
    **dict.fromkeys(("self",), "`self` as the first parameter"),
}
"""Names of other languages for kernels."""

MODULES = {
    **{f"{kind}{bits}": f"`tt.{kind.capitalize()}{bits}`" for kind in ("int", "uint") for bits in (8, 16, 32, 64)},
    **{f"float{bits}": f"`tt.Float{bits}`" for bits in (16, 32, 64)},
    "bfloat16": "`tt.BFloat16`",
    **dict.fromkeys(("bool", "bool_", "boolean"), "`tt.Boolean`"),
    "constexpr": "`tt.Constexpr`",
    **{
        name: f"`cute.math.{name}`"
        for name in ("sin", "cos", "tan", "exp", "exp2", "log", "log2", "sqrt", "rsqrt", "tanh")
    },
    **dict.fromkeys(("zeros", "ones", "empty", "array", "tensor"), "`cute.make_rmem_tensor(shape, dtype)` in a kernel"),
    **dict.fromkeys(("load", "store"), "`x[i]` and `x[i] = value`, or `x.load()` and `x.store(v)` of a whole tensor"),
    **dict.fromkeys(("program_id", "blockIdx", "block_idx"), "`cute.arch.block_idx()[0]`"),
    **dict.fromkeys(("threadIdx", "thread_idx", "thread_id"), "`cute.arch.thread_idx()[0]`"),
    **dict.fromkeys(("syncthreads", "sync_threads", "barrier"), "`cute.arch.sync_threads()`"),
    **dict.fromkeys(("atomic_add", "atomicAdd"), "`cute.arch.atomic_add(x.iterator + i, value)`"),
    **dict.fromkeys(("make_fragment", "make_rmem"), "`cute.make_rmem_tensor(shape, dtype)`"),
    "dot": "`cute.gemm(atom, d, a, b, c)`",
    "arange": "`range(n)`, or the thread's own index",
    "njit": "`tt.jit`",
}
"""Names that people look for in `triptych` and `triptych.cute`."""


def missing_attribute(
    owner: str, name: str, table: dict[str, str], known: Sequence[str], span: Span | None
) -> MissingAttributeError:
    """The error for an attribute that `owner` does not have: what it is called here, or the known name most like it."""
    guess = _nearest_public(name, tuple(known))
    instead = table.get(name) or (f"did you mean `{guess}`?" if guess else "")
    return MissingAttributeError(
        f"{owner} has no attribute {name!r}",
        found=f"`.{name}`",
        expected=f"an attribute of {owner}, as `dir(...)` lists them",
        instead=instead,
        span=span,
    )


@lru_cache(maxsize=256)
def _nearest_public(name: str, known: tuple[str, ...]) -> str | None:
    """Who asks whether there is such a name, to be told that there is not, asks often."""
    return nearest(name, [other for other in known if not other.startswith("_")])


def missing_name(module: str, name: str, known: Sequence[str]) -> AttributeError:
    """The error for a name that a module does not have; questions of the interpreter get the plain one."""
    if name.startswith("__"):
        return AttributeError(f"module {module!r} has no attribute {name!r}", name=name)
    return missing_attribute(f"module {module!r}", name, MODULES, known, span=caller())
