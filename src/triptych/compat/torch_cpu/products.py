"""Products of half-precision matrices as a GPU computes them: factors as they are, sums in float32, one rounding.

The CPU's own may sum in half precision, and then disagrees with kernels that are right.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

from triptych.compat.torch_cpu.placement import map_tensors, tensors_in

_HALVES = (torch.float16, torch.bfloat16)
_OF_TENSORS = (
    *("matmul", "__matmul__", "__rmatmul__", "mm", "bmm", "mv", "dot", "vdot", "inner"),
    *("addmm", "addbmm", "baddbmm", "addmv", "addr"),
)
_IN_PLACE = ("addmm_", "addbmm_", "baddbmm_", "addmv_", "addr_")
_OF_MODULES: tuple[tuple[Any, tuple[str, ...]], ...] = (
    (torch, tuple(name for name in _OF_TENSORS if "__" not in name)),
    (torch, ("einsum", "tensordot", "chain_matmul", "conv1d", "conv2d", "conv3d")),
    (torch.linalg, ("matmul", "multi_dot", "vecdot")),
    (F, ("linear", "bilinear", "scaled_dot_product_attention", "conv1d", "conv2d", "conv3d")),
    (torch.Tensor, _OF_TENSORS),
)
PRODUCTS: frozenset[Any] = frozenset(getattr(home, name) for home, names in _OF_MODULES for name in names)
PRODUCTS_IN_PLACE: dict[Any, Any] = {
    getattr(torch.Tensor, name): getattr(torch.Tensor, name.removesuffix("_")) for name in _IN_PLACE
}


def product(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call one of `PRODUCTS` or `PRODUCTS_IN_PLACE`, with sums in float32 if its factors are of half precision."""
    kinds = {tensor.dtype for tensor in tensors_in((args, kwargs)) if tensor.is_floating_point()}
    wanted = kwargs.get("out_dtype")
    if not kinds <= set(_HALVES) or len(kinds) != 1:
        return function(*args, **kwargs)
    [kind] = kinds
    given = {name: value for name, value in kwargs.items() if name not in ("out", "out_dtype")}
    wide = PRODUCTS_IN_PLACE.get(function, function)(*map_tensors(args, _widened), **map_tensors(given, _widened))
    target = args[0] if function in PRODUCTS_IN_PLACE else kwargs.get("out")
    if target is not None:
        return target.copy_(wide)
    return map_tensors(wide, lambda tensor: tensor.to(wanted or kind))


def _widened(tensor: Any) -> Any:
    return tensor.float() if tensor.dtype in _HALVES else tensor
