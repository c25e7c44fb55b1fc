"""Products with block scales, which torch has for GPUs only; `triptych.compat.torch_on_cpu.scaled_products`."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from triptych.compat.torch_on_cpu import scaled_products  # noqa: E402
from triptych.compat.torch_on_cpu.function_mode import CudaOnCpu  # noqa: E402

E4M3, E8M0, FOUR_BITS = torch.float8_e4m3fn, torch.float8_e8m0fnu, torch.float4_e2m1fn_x2
ONES_OF_FOUR_BITS = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]


def chunks(scales: Any, kind: Any = E8M0) -> Any:
    """Scales (row, k) padded with zeros to chunks of 128 rows and four, in the order in which cuBLAS takes them."""
    rows, columns = scales.shape
    padded = torch.nn.functional.pad(scales, (0, -columns % 4, 0, -rows % 128)).to(kind)
    return padded.view(-1, 4, 32, padded.shape[1] // 4, 4).permute(0, 3, 2, 1, 4).flatten()


@pytest.mark.parametrize("k", [96, 128, 160])
def test_scales_come_for_whole_chunks(k: int) -> None:
    generator = torch.Generator().manual_seed(k)
    a, b = (torch.randint(-2, 3, (rows, k), generator=generator).float() for rows in (160, 96))
    powers = [torch.randint(-2, 3, (len(each), k // 32), generator=generator) for each in (a, b)]
    scale_a, scale_b = (torch.exp2(each.float()) for each in powers)
    args = (a.to(E4M3), b.to(E4M3).t(), chunks(scale_a), chunks(scale_b))
    assert scaled_products.reference_for(torch._scaled_mm, args) is scaled_products.scaled_product
    expected = (a * scale_a.repeat_interleave(32, 1)) @ (b * scale_b.repeat_interleave(32, 1)).t()
    assert torch.equal(scaled_products.scaled_product(*args), expected)


class Operand:
    """Matrices (row, k) of whole numbers with scales, one for each group, and what torch is given of them."""

    def __init__(self, shapes: list[tuple[int, int]], vector: int, *, packed: bool, seed: int) -> None:
        generator = torch.Generator().manual_seed(seed)
        self.codes = [torch.randint(0, 16, shape, generator=generator) for shape in shapes]
        table = torch.tensor([*ONES_OF_FOUR_BITS, *(-value for value in ONES_OF_FOUR_BITS)])
        self.values = [table[each] for each in self.codes]
        counts = [(rows, -(-k // vector)) for rows, k in shapes]
        self.scales = [torch.exp2(torch.randint(-2, 3, each, generator=generator).float()) for each in counts]
        self.vector, self.packed = vector, packed

    def scaled(self, index: int) -> Any:
        values = self.values[index].double()
        return values * self.scales[index].repeat_interleave(self.vector, 1)[:, : values.shape[1]]

    def given(self, dimension: int | None) -> Any:
        """One matrix that holds all along a dimension, or a stack of them."""
        join = torch.stack if dimension is None else (lambda each: torch.cat(each, dimension))
        if not self.packed:
            return join(self.values).to(E4M3)
        codes = join(self.codes).to(torch.uint8)
        return (codes[..., ::2] | codes[..., 1::2] << 4).view(FOUR_BITS)

    def all_scales(self, kind: Any) -> Any:
        return torch.cat([chunks(each, kind).view(torch.uint8) for each in self.scales]).view(kind)


ROWS, COLUMNS, INNER = (40, 0, 130), (24, 16, 8), (64, 128, 32)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("vector", [16, 32])
@pytest.mark.parametrize("divided", ["rows", "columns", "k", "nothing"])
def test_each_group_has_its_own_scales(divided: str, vector: int, packed: bool) -> None:
    """Two kinds of scales with vectors of 16, as public programs have them; against plain float64."""
    shapes = {
        "rows": [((m, 96), (48, 96)) for m in ROWS],
        "columns": [((48, 96), (n, 96)) for n in COLUMNS],
        "k": [((48, k), (24, k)) for k in INNER],
        "nothing": [((48, 96), (24, 96))] * 3,
    }[divided]
    a, b = (Operand([pair[i] for pair in shapes], vector, packed=packed, seed=i) for i in range(2))
    kind, factors = (E4M3, torch.tensor([1.0, 2.0, 4.0])) if vector == 16 else (E8M0, None)
    sizes = {"rows": ROWS, "columns": COLUMNS, "k": INNER, "nothing": None}[divided]
    offs = None if sizes is None else torch.tensor(list(itertools.accumulate(sizes)), dtype=torch.int32)
    together = {"rows": (0, None), "columns": (None, 0), "k": (1, 1), "nothing": (None, None)}[divided]
    block, tensor = torch.nn.functional.ScalingType, torch.nn.functional.ScalingType.TensorWise
    recipe = [block.BlockWise1x32] if factors is None else [block.BlockWise1x16, tensor]
    extra = [] if factors is None else [factors]
    with CudaOnCpu():
        found = torch.nn.functional.scaled_grouped_mm(
            a.given(together[0]),
            b.given(together[1]).transpose(-1, -2),
            [a.all_scales(kind), *extra],
            recipe,
            [b.all_scales(kind), *extra],
            recipe,
            torch.nn.functional.SwizzleType.SWIZZLE_32_4_4,
            torch.nn.functional.SwizzleType.SWIZZLE_32_4_4,
            offs=offs,
            output_dtype=torch.float32,
        )
    squares = [1.0] * 3 if factors is None else (factors**2).tolist()
    products = [a.scaled(i) @ b.scaled(i).t() * squares[i] for i in range(3)]
    expected = torch.cat(products, ["rows", "columns"].index(divided)) if divided in ("rows", "columns") else None
    assert torch.equal(found.double(), torch.stack(products) if expected is None else expected)


def test_what_it_does_not_compute_it_refuses() -> None:
    matrix, scales = torch.zeros(2, 32, 32).to(E4M3), torch.ones(2, 512).to(E8M0)
    for recipe, swizzle in (([2], [1]), ([3], [0]), ([1], [1]), ([3, 1], [1])):
        with pytest.raises(NotImplementedError, match="by the recipes"):
            scaled_products.scaled_groups(matrix, matrix, [scales], recipe, swizzle, [scales], [3], [1])
    with pytest.raises(NotImplementedError, match="no bias"):
        scaled_products.scaled_groups(
            matrix, matrix, [scales], [3], [1], [scales], [3], [1], bias=torch.zeros(32, dtype=torch.float32)
        )


def test_groups_of_halves_are_summed_in_float32() -> None:
    """1 + 2048 * 2^-11, where a sum in halves loses each further addend."""
    a = torch.full((2, 2056), 2.0**-6, dtype=torch.bfloat16)
    b = torch.full((2, 2056, 8), 2.0**-5, dtype=torch.bfloat16)
    a[:, 0] = b[:, 0] = 1
    a[:, 2049:] = 0
    with CudaOnCpu():
        found = torch._grouped_mm(a, b, offs=torch.tensor([1, 2], dtype=torch.int32))
    assert torch.equal(found, torch.full((2, 8), 2.0, dtype=torch.bfloat16))
