"""`torch._scaled_mm` with block scales, which torch has for GPUs only; `triptych.compat.torch_on_cpu`."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from triptych.compat.torch_on_cpu.function_mode import has_block_scales, scaled_product  # noqa: E402


def chunks(scales: object) -> object:
    """Scales (row, k) padded with zeros to chunks of 128 rows and four, in the order in which cuBLAS takes them."""
    rows, columns = scales.shape  # type: ignore[attr-defined]
    padded = torch.nn.functional.pad(scales, (0, -columns % 4, 0, -rows % 128)).to(torch.float8_e8m0fnu)
    return padded.view(-1, 4, 32, padded.shape[1] // 4, 4).permute(0, 3, 2, 1, 4).flatten()


@pytest.mark.parametrize("k", [96, 128, 160])
def test_scales_come_for_whole_chunks(k: int) -> None:
    generator = torch.Generator().manual_seed(k)
    a, b = (torch.randint(-2, 3, (rows, k), generator=generator).float() for rows in (160, 96))
    powers = [torch.randint(-2, 3, (len(each), k // 32), generator=generator) for each in (a, b)]
    scale_a, scale_b = (torch.exp2(each.float()) for each in powers)
    args = (a.to(torch.float8_e4m3fn), b.to(torch.float8_e4m3fn).t(), chunks(scale_a), chunks(scale_b))
    assert has_block_scales(torch._scaled_mm, args)
    expected = (a * scale_a.repeat_interleave(32, 1)) @ (b * scale_b.repeat_interleave(32, 1)).t()
    assert torch.equal(scaled_product(torch._scaled_mm, args, {}), expected)
