"""Torch function mode: what torch's functions are asked to do on the GPU they do on the CPU.

Input: a call of torch, with devices as the program wrote them. Output: what the call gives on the CPU, marked as being
on the GPU if it would be there. Compiled kernels read tensors below this: a call of one costs what it costs without.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
import torch.nn.functional as F
import torch.utils._device as default_device
from torch.overrides import TorchFunctionMode, _get_current_function_mode_stack

from triptych.compat.torch_on_cpu.placement import (
    CPU,
    THREAD,
    aligned,
    gpu,
    gpu_number,
    is_placed,
    map_tensors,
    means_gpu,
    place,
    tensors_in,
    without_mark,
)
from triptych.compat.torch_on_cpu.scaled_products import reference_for
from triptych.interop.streams import RECORDERS

# Products of half-precision matrices as a GPU computes them: factors as they are, sums in float32, one rounding.
# The CPU's own may sum in half precision, and then disagrees with kernels that are right.

_HALVES = (torch.float16, torch.bfloat16)
_OF_TENSORS = (
    *("matmul", "__matmul__", "__rmatmul__", "mm", "bmm", "mv", "dot", "vdot", "inner"),
    *("addmm", "addbmm", "baddbmm", "addmv", "addr"),
)
_IN_PLACE = ("addmm_", "addbmm_", "baddbmm_", "addmv_", "addr_")
_OF_MODULES: tuple[tuple[Any, tuple[str, ...]], ...] = (
    (torch, (*(name for name in _OF_TENSORS if "__" not in name), "_grouped_mm")),
    (torch, ("einsum", "tensordot", "chain_matmul", "conv1d", "conv2d", "conv3d")),
    (torch.linalg, ("matmul", "multi_dot", "vecdot")),
    (F, ("linear", "bilinear", "scaled_dot_product_attention", "grouped_mm", "conv1d", "conv2d", "conv3d")),
    (torch.Tensor, _OF_TENSORS),
)
PRODUCTS: frozenset[Any] = frozenset(
    filter(None, (getattr(home, name, None) for home, names in _OF_MODULES for name in names))
)
PRODUCTS_IN_PLACE: dict[Any, Any] = {
    getattr(torch.Tensor, name): getattr(torch.Tensor, name.removesuffix("_")) for name in _IN_PLACE
}


def product(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call one of `PRODUCTS` or `PRODUCTS_IN_PLACE`, with sums in float32 if its factors are of half precision."""
    kinds = {tensor.dtype for tensor in tensors_in((args, kwargs)) if tensor.is_floating_point()}
    wanted = kwargs.get("out_dtype")
    given = {name: value for name, value in kwargs.items() if name not in ("out", "out_dtype")}
    if not kinds <= set(_HALVES) or len(kinds) != 1:
        if wanted is None:
            return function(*args, **kwargs)
        # Only GPUs have products with results of another type.
        found = function(*map_tensors(args, lambda tensor: tensor.to(wanted)), **given)
        return found if kwargs.get("out") is None else kwargs["out"].copy_(found)
    [kind] = kinds
    wide = PRODUCTS_IN_PLACE.get(function, function)(*map_tensors(args, _widened), **map_tensors(given, _widened))
    target = args[0] if function in PRODUCTS_IN_PLACE else kwargs.get("out")
    if target is not None:
        return target.copy_(wide)
    return map_tensors(wide, lambda tensor: tensor.to(wanted or kind))


def _widened(tensor: torch.Tensor) -> Any:
    return tensor.float() if tensor.dtype in _HALVES else tensor


Handler = Callable[[Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any]


class CudaOnCpu(TorchFunctionMode):  # type: ignore[misc]  # torch has no types here
    """Every call of torch in this thread goes through it."""

    def __torch_function__(
        self,
        function: Callable[..., Any],
        types: object,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        run: Handler = _HANDLERS.get(function, _run)
        if RECORDERS and _changes_or_makes(function):
            return RECORDERS[-1].record(lambda *args, **kwargs: run(function, args, kwargs), args, kwargs)
        return run(function, args, kwargs)


def switched_on() -> AbstractContextManager[object]:
    """The mode, for code of the program that torch calls while the mode is off; nothing where it is on already."""
    is_on = any(isinstance(mode, CudaOnCpu) for mode in _get_current_function_mode_stack())
    return nullcontext() if is_on else CudaOnCpu()


def _run(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call whose devices are the CPU, and whose result is marked by what it came from."""
    if function is torch.device:
        return function(*args, **kwargs)
    asked = None
    if "device" in kwargs:
        asked = means_gpu(kwargs["device"])
    if asked is None and default_device.CURRENT_DEVICE is not None and kwargs.get("device") is None:
        asked = means_gpu(default_device.CURRENT_DEVICE) if function in default_device._device_constructors() else None
    if asked is not None:
        kwargs = {**kwargs, "device": CPU}
    if kwargs.get("pin_memory"):
        kwargs = {**kwargs, "pin_memory": False}  # all memory here is the CPU's
    args = tuple(CPU if isinstance(arg, torch.device) and arg.type == "cuda" else arg for arg in args)
    given = list(tensors_in((args, kwargs)))
    THREAD.latest_on_gpu = on_gpu = any(map(is_placed, given)) if asked is None else asked
    if function in PRODUCTS or function in PRODUCTS_IN_PLACE:
        result = product(function, args, kwargs)
    else:
        result = (reference_for(function, args) or function)(*args, **kwargs)
    for tensor in tensors_in(result):
        if all(tensor is not other for other in given):
            place(aligned(tensor) if asked else tensor, on_gpu)
    return result


def _changes_or_makes(function: Callable[..., Any]) -> bool:
    """Whether a graph has to repeat the call: not what only asks a tensor for something."""
    name = getattr(function, "__name__", "")
    return name not in _QUESTIONS and function is not torch.device


_QUESTIONS = frozenset(
    [
        "__get__",
        "data_ptr",
        "stride",
        "size",
        "dim",
        "element_size",
        "numel",
        "is_contiguous",
        "storage_offset",
        "__len__",
        "untyped_storage",
        "is_floating_point",
        "is_complex",
        "is_pinned",
        "get_device",
        "record_stream",
        "item",
        "tolist",
        "numpy",
        "__dlpack__",
        "__dlpack_device__",
        "__repr__",
        "__format__",
        "__array__",
    ]
)


# Moves between devices ----------------------------------------------------------------------------------------------
def _moved(tensor: torch.Tensor, on_gpu: bool | None, converted: torch.Tensor) -> Any:
    """`converted` on a device. What changes its device is a copy, even if torch gave the tensor itself."""
    before = is_placed(tensor)
    after = before if on_gpu is None else on_gpu
    if after != before and converted.data_ptr() == tensor.data_ptr() and converted.numel():
        converted = aligned(converted.clone()) if after else converted.clone()
    elif after != before and converted is tensor:
        converted = tensor.view(tensor.shape)
    return converted if converted is tensor else place(converted, after)


def _cuda(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    tensor, *rest = args
    asked = rest[0] if rest else kwargs.get("device")
    means_gpu("cuda" if asked is None else asked)
    return _moved(tensor, True, tensor)


def _cpu(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return _moved(args[0], False, args[0])


def _to(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`.to` takes a device, a type or another tensor, in several places."""
    tensor, *rest = args
    on_gpu: bool | None = None
    if rest and isinstance(rest[0], torch.Tensor):
        on_gpu = is_placed(rest[0])
    elif rest and not isinstance(rest[0], torch.dtype):
        on_gpu = means_gpu(rest[0])
        rest = [CPU if on_gpu is not None else rest[0], *rest[1:]]
    if kwargs.get("device") is not None:
        on_gpu = means_gpu(kwargs["device"])
        kwargs = {**kwargs, "device": CPU if on_gpu is not None else kwargs["device"]}
    if isinstance(kwargs.get("other"), torch.Tensor):
        on_gpu = is_placed(kwargs["other"])
    return _moved(tensor, on_gpu, function(tensor, *rest, **kwargs))


def _as_tensor(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    source = args[0] if args else kwargs.get("data")
    asked = means_gpu(kwargs.get("device"))
    if not isinstance(source, torch.Tensor):
        made = _run(function, args, kwargs)
        # Memory of an array is the CPU's: on a GPU there would be a copy.
        return place(made.clone(), True) if asked else made
    given = {name: value for name, value in kwargs.items() if name != "device"}
    return _moved(source, asked, function(*args, **given))


# What tensors say of themselves ---------------------------------------------------------------------------------------
def _device(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return gpu() if is_placed(args[0]) else function(*args, **kwargs)


def _is_cuda(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return is_placed(args[0])


def _is_cpu(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return not is_placed(args[0]) and function(*args, **kwargs)


def _get_device(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return gpu_number() if is_placed(args[0]) else function(*args, **kwargs)


def _set_data(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    function(*args, **kwargs)
    place(args[0], is_placed(args[1]))


def _text(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """As torch prints tensors that are on a GPU."""
    text = function(*args, **kwargs)
    if not is_placed(args[0]) or not text.startswith("tensor(") or not text.endswith(")"):
        return text
    rest = re.search(r"(, (size|dtype|grad_fn|requires_grad)=.*)?\)$", text, re.DOTALL)
    return text if rest is None else f"{text[: rest.start()]}, device='{gpu()}'{text[rest.start() :]}"


def _to_array(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if is_placed(args[0]) and not kwargs.get("force"):
        raise TypeError(f"NumPy cannot reach the memory of a tensor on {gpu()}; write `.cpu()` before `.numpy()`")
    return function(*args, **kwargs)


def _pickled(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What lies on the CPU is written as on any machine."""
    return function(*args, **kwargs) if is_placed(args[0]) else without_mark(args[0], lambda: function(*args, **kwargs))


def _type(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    result = _run(function, args, kwargs)
    return result.replace("torch.", "torch.cuda.", 1) if isinstance(result, str) and is_placed(args[0]) else result


def _itself(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return args[0]


def _nothing(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    return None


_T = torch.Tensor
_HANDLERS: dict[Any, Handler] = {
    _T.cuda: _cuda,
    _T.cpu: _cpu,
    _T.to: _to,
    torch.as_tensor: _as_tensor,
    torch.asarray: _as_tensor,
    _T.device.__get__: _device,
    _T.is_cuda.__get__: _is_cuda,
    _T.is_cpu.__get__: _is_cpu,
    _T.get_device: _get_device,
    _T.data.__set__: _set_data,
    _T.__repr__: _text,
    _T.__format__: _text,
    _T.numpy: _to_array,
    _T.__array__: _to_array,
    _T.type: _type,
    _T.__reduce_ex__: _pickled,
    _T.pin_memory: _itself,
    _T.record_stream: _nothing,
}
