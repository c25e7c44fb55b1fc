"""PyTorch beside the language: element types, streams, and tensors as host programs prepare them.

Tensors are filled, in some order of modes, and of any element type. PyTorch has no 4-bit and 6-bit elements that it
computes with; such tensors are bytes to it, and elements to the kernel. Importing this imports PyTorch.
"""

from __future__ import annotations

import ctypes
import enum
import math
from collections.abc import Sequence
from typing import Any

from triptych.compat.cuda import CUstream
from triptych.cute.runtime.dlpack import RuntimeTensor, from_dlpack
from triptych.cute.runtime.element_conversion import convert, create_cute_tensor_for_fp8, torch_dtype
from triptych.cute.runtime.element_conversion import torch_dtype as dtype
from triptych.ir.errors import MissingPackageError
from triptych.metastage.values.scalars import Float32, Numeric
from triptych.support.dataclass import dataclass

try:
    import torch as torch
except ModuleNotFoundError as error:
    if error.name != "torch":  # it is here, and something that it needs is not
        raise
    missing = MissingPackageError(
        "`triptych.torch` needs PyTorch, which is not installed",
        found="no importable module torch",
        instead="pip install 'triptych[torch]'",
    )
    missing.name = "torch"
    raise missing from None

from triptych.compat.torch_on_cpu.placement import KEPT, is_placed  # it imports PyTorch itself


class TensorInitType(enum.Enum):
    """How a new tensor is filled."""

    SKIP = "skip"
    SCALAR = "scalar"
    RANDOM = "random"
    GAUSSIAN = "gaussian"


@dataclass
class ScalarInitConfig:
    """One number everywhere."""

    value: float = 0.0


@dataclass
class RandomInitConfig:
    """Whole numbers from `min_val` to `max_val` - 1, so that sums of products are exact."""

    min_val: int = -2
    max_val: int = 2


@dataclass
class GaussianInitConfig:
    """Normally distributed numbers, times a factor."""

    mean: float = 0.0
    std: float = 1.0
    scale: float = 1.0


InitConfig = ScalarInitConfig | RandomInitConfig | GaussianInitConfig
_CONFIGS: dict[TensorInitType, type[InitConfig]] = {
    TensorInitType.SCALAR: ScalarInitConfig,
    TensorInitType.RANDOM: RandomInitConfig,
    TensorInitType.GAUSSIAN: GaussianInitConfig,
}
_BYTE = 8


def create_and_permute_torch_tensor(
    shape: Sequence[int],
    dtype: torch.dtype,
    permute_order: Sequence[int] | None = None,
    init_type: TensorInitType = TensorInitType.RANDOM,
    init_config: InitConfig | None = None,
    device: torch.device | str | None = None,
) -> Any:
    """A new tensor, filled, whose modes are then put into another order; its memory stays as it was made."""
    device = torch.device("cpu") if device is None else device
    if init_type is TensorInitType.SKIP:
        made = torch.empty(*shape, dtype=dtype, device=device)
    else:
        made = _filled(tuple(shape), init_type, _config(init_type, init_config)).to(dtype=dtype, device=device)
    return made if permute_order is None else made.permute(permute_order)


def _config(init_type: TensorInitType, given: InitConfig | None) -> InitConfig:
    kind = _CONFIGS[init_type]
    if given is None:
        return kind()
    if not isinstance(given, kind):
        raise TypeError(f"{init_type} takes a {kind.__name__}, not a {type(given).__name__}")
    return given


def _filled(shape: tuple[int, ...], init_type: TensorInitType, config: InitConfig) -> Any:
    """In float32, which holds the whole numbers that tests use."""
    made = torch.empty(shape, dtype=torch.float32)
    if isinstance(config, ScalarInitConfig):
        return made.fill_(config.value)
    if isinstance(config, RandomInitConfig):
        return torch.randint(config.min_val, config.max_val, shape).float()
    return made.normal_(config.mean, config.std).mul_(config.scale)


def matrix(
    l: int,  # noqa: E741 - the name that programs know it by
    mode0: int,
    mode1: int,
    is_mode0_major: bool,
    cutlass_dtype: type[Numeric],
    init_type: TensorInitType = TensorInitType.RANDOM,
    init_config: InitConfig | None = None,
    device: torch.device | str | None = None,
) -> Any:
    """`l` matrices as a tensor of (mode0, mode1, l) in the CPU's memory; one mode is contiguous."""
    shape, order = ((l, mode1, mode0), (2, 1, 0)) if is_mode0_major else ((l, mode0, mode1), (1, 2, 0))
    if init_config is None and init_type is TensorInitType.RANDOM and _is_unsigned(cutlass_dtype):
        init_config = RandomInitConfig(0, 4)
    return create_and_permute_torch_tensor(shape, _computed_as(cutlass_dtype), order, init_type, init_config, device)


def _is_unsigned(dtype: type[Numeric]) -> bool:
    return dtype.is_integer and not dtype.signed


def _stored_as(dtype: type[Numeric]) -> Any:
    """The type of PyTorch's elements: bytes where it has none that it computes with."""
    return torch.int8 if dtype.width < _BYTE else torch_dtype(dtype)


def _computed_as(dtype: type[Numeric]) -> Any:
    """The type of elements that PyTorch computes with, beside numbers of other types too: not those of one byte."""
    return torch.float32 if dtype.is_float and dtype.width == _BYTE else _stored_as(dtype)


def get_leading_dim(torch_tensor: torch.Tensor) -> int | None:
    """The mode whose neighbours are neighbours in memory."""
    steps = list(torch_tensor.stride())
    candidates = [mode for mode, step in enumerate(steps) if step == 1]
    return max(candidates, key=lambda mode: torch_tensor.shape[mode], default=None)


def cute_tensor_like(
    data_ref: torch.Tensor,
    cutlass_dtype: type[Numeric],
    is_dynamic_layout: bool,
    assumed_align: int | None = None,
    device: torch.device | str = "cuda",
) -> tuple[RuntimeTensor, Any]:
    """A tensor of elements of a type with the numbers of `data_ref`, as an argument of kernels and as PyTorch's."""
    storage = torch.empty_strided(
        data_ref.shape, data_ref.stride(), dtype=_stored_as(cutlass_dtype), device=_present(device)
    )
    tensor = _as_elements(storage, cutlass_dtype, is_dynamic_layout, assumed_align)
    if cutlass_dtype.width < _BYTE:
        convert_cute_tensor(data_ref.float(), tensor, cutlass_dtype, is_dynamic_layout)
    else:
        storage.copy_(data_ref)
    if is_placed(storage) or (str(device).partition(":")[0] == "cuda" and storage.device.type == "cpu"):
        KEPT.keep(storage)
    return tensor, storage


def _present(device: torch.device | str) -> Any:
    return device if str(device).partition(":")[0] != "cuda" or torch.cuda.is_available() else "cpu"


def _as_elements(storage: torch.Tensor, dtype: type[Numeric], is_dynamic: bool, align: int | None) -> RuntimeTensor:
    tensor = from_dlpack(storage, assumed_align=align) if align is not None else from_dlpack(storage)
    if tensor.element_type is not dtype:
        tensor.element_type = dtype
    return tensor.mark_layout_dynamic(leading_dim=get_leading_dim(storage)) if is_dynamic else tensor


def convert_cute_tensor(
    f32_torch_tensor: torch.Tensor, cute_tensor: RuntimeTensor, dtype: type[Numeric], is_dynamic_layout: bool = True
) -> RuntimeTensor:
    """Fill a tensor of any element type with numbers that PyTorch has as float32."""
    source = f32_torch_tensor.to(dtype=torch.float32, device=_present("cuda"))
    convert(_as_elements(source, Float32, is_dynamic_layout, None), cute_tensor)
    return cute_tensor


def as_tensor(pointer: int, shape: Sequence[int], torch_type: torch.dtype) -> Any:
    """Memory at an address as a tensor, row-major."""
    size = math.prod(shape) * torch_type.itemsize
    return torch.frombuffer((ctypes.c_byte * size).from_address(pointer), dtype=torch_type).view(tuple(shape))


__all__ = [
    "GaussianInitConfig",
    "RandomInitConfig",
    "ScalarInitConfig",
    "TensorInitType",
    "as_tensor",
    "convert_cute_tensor",
    "create_and_permute_torch_tensor",
    "create_cute_tensor_for_fp8",
    "current_stream",
    "cute_tensor_like",
    "default_stream",
    "dtype",
    "from_dlpack",
    "get_leading_dim",
    "matrix",
]


def __dir__() -> list[str]:
    return __all__


def current_stream() -> CUstream:
    """The stream on which PyTorch queues work now, as launches take it; the default one where there is no CUDA."""
    return CUstream(torch.cuda.current_stream().cuda_stream if torch.cuda.is_available() else 0)


def default_stream() -> CUstream:
    """The stream of work that names none, as launches take it."""
    return CUstream(torch.cuda.default_stream().cuda_stream if torch.cuda.is_available() else 0)
