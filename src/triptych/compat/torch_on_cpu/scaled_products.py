"""Products with block scales, which torch has for GPUs only: in float32, of what the formats stand for.

Input: the arguments of `torch._scaled_mm` or `torch._scaled_grouped_mm_v2` (`F.scaled_grouped_mm`). Output: what they
give. Scales come in chunks, as cuBLAS takes them: the scales of 128 rows, four of each; row r, scale k of a chunk at
16 * (r % 32) + 4 * (r // 32) + k. Each group of a product begins with a chunk of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

_VECTORS = {torch.float8_e4m3fn: 16, torch.float8_e8m0fnu: 32}
"""Elements that share a scale, by its type."""
_FOUR_BITS = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
_ROWS, _SCALES = 128, 4
_TENSOR_WISE, _SWIZZLED = 0, 1
_RECIPES = {2: torch.float8_e4m3fn, 3: torch.float8_e8m0fnu}
"""The types of scales by torch's numbers of blocks of 1 x 16 and 1 x 32 elements."""


def reference_for(function: object, args: Sequence[Any]) -> Callable[..., torch.Tensor] | None:
    """What computes a product that no CPU has; None for any other function."""
    if function is torch._scaled_mm and len(args) >= 4 and args[2].dtype in _VECTORS and args[2].numel() > 1:
        return scaled_product
    return scaled_groups if function is getattr(torch, "_scaled_grouped_mm_v2", scaled_groups) else None


def scaled_product(
    a: torch.Tensor,
    b: torch.Tensor,
    scale_a: torch.Tensor,
    scale_b: torch.Tensor,
    bias: torch.Tensor | None = None,
    scale_result: torch.Tensor | None = None,
    out_dtype: torch.dtype | None = None,
    use_fast_accum: bool = False,
) -> torch.Tensor:
    """(A * scales of A) @ (B * scales of B), A as (m, k) and B as (k, n)."""
    found = _scaled(_decoded(a), scale_a) @ _scaled(_decoded(b.t()), scale_b).t()
    return (found if bias is None else found + bias).to(out_dtype or torch.float32)


def scaled_groups(
    a: torch.Tensor,
    b: torch.Tensor,
    scale_a: Sequence[torch.Tensor],
    recipe_a: Sequence[int],
    swizzle_a: Sequence[int],
    scale_b: Sequence[torch.Tensor],
    recipe_b: Sequence[int],
    swizzle_b: Sequence[int],
    offs: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    out_dtype: torch.dtype | None = None,
    contraction_dim: Sequence[int] = (),
    use_fast_accum: bool = False,
) -> torch.Tensor:
    """The product of each group: of matrices (3 dimensions), or of what lies between two of `offs` in one matrix.

    The rows of A and the columns of B are divided where the other one has a matrix for each group, k where none has.
    """
    if bias is not None or contraction_dim:
        raise NotImplementedError("no bias and no contraction_dim in a grouped product with scales on the CPU")
    rows = _matrices(_decoded(a), offs, 1 if b.dim() == 2 else 0)
    columns = _matrices(_decoded(b.transpose(-1, -2)), offs, 1 if a.dim() == 2 else 0)
    factors = (
        _scaled_groups(rows, scale_a, recipe_a, swizzle_a),
        _scaled_groups(columns, scale_b, recipe_b, swizzle_b),
    )
    products = [(one @ other.t()).to(out_dtype or torch.bfloat16) for one, other in zip(*factors, strict=True)]
    if a.dim() == b.dim():
        return torch.stack(products)
    return torch.cat(products, dim=0 if a.dim() == 2 else 1)


def _matrices(values: torch.Tensor, offs: torch.Tensor | None, dimension: int) -> list[torch.Tensor]:
    """A matrix for each group."""
    if values.dim() == 3:
        return list(values)
    assert offs is not None, "torch says where the groups of one matrix end"
    ends = [int(end) for end in offs]
    return [values.narrow(dimension, start, end - start) for start, end in zip([0, *ends], ends, strict=False)]


def _scaled_groups(
    matrices: Sequence[torch.Tensor], scales: Sequence[torch.Tensor], recipe: Sequence[int], swizzle: Sequence[int]
) -> Iterator[torch.Tensor]:
    """Each with its part of the scales, and with the factor of its group where there are two kinds of scales."""
    blocks, *others = scales
    kinds = [_RECIPES.get(recipe[0]), *recipe[1:]]
    if kinds != [blocks.dtype, *(_TENSOR_WISE for _ in others)] or list(swizzle[:1]) != [_SWIZZLED] or len(others) > 1:
        raise NotImplementedError(
            f"scales of {blocks.dtype} by the recipes {list(recipe)}, {list(swizzle)} on the CPU: it has blocks of "
            "1 x 16 elements with scales of float8_e4m3fn and of 1 x 32 with float8_e8m0fnu, SWIZZLE_32_4_4, and with "
            "them one factor for each group"
        )
    flat, begin = blocks.flatten(), 0
    for index, matrix in enumerate(matrices):
        count = _count(matrix, _VECTORS[blocks.dtype])
        found = _scaled(matrix, flat[begin : begin + count])
        begin += count
        yield found if not others else found * others[0].flatten()[index % others[0].numel()]


def _count(matrix: torch.Tensor, vector: int) -> int:
    """Scales of a matrix (row, k), in whole chunks."""
    rows, columns = matrix.shape
    chunks: int = -(-rows // _ROWS) * -(-columns // (vector * _SCALES))
    return chunks * _ROWS * _SCALES


def _decoded(matrix: torch.Tensor) -> torch.Tensor:
    """Elements as float32; of four bits, the low half of a byte comes first."""
    if matrix.dtype is not torch.float4_e2m1fn_x2:
        return matrix.float()
    codes = matrix.contiguous().view(torch.uint8)
    both = torch.stack((codes & 15, codes >> 4), dim=-1).flatten(-2).long()
    values = torch.tensor([*_FOUR_BITS, *(-value for value in _FOUR_BITS)])
    return values[both]


def _scaled(matrix: torch.Tensor, scales: torch.Tensor) -> torch.Tensor:
    """Elements (row, k) times their scales, which come for whole chunks."""
    rows, columns = matrix.shape
    if not rows or not columns:
        return matrix
    blocks = -(-rows // _ROWS)
    chunks = scales.float().reshape(blocks, -1, 32, _SCALES, _SCALES)
    each = chunks.permute(0, 3, 2, 1, 4).reshape(blocks * _ROWS, -1)
    return matrix * each[:rows].repeat_interleave(_VECTORS[scales.dtype], dim=1)[:, :columns]
