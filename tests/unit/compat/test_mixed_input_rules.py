"""Which mixed-input GEMMs there are: each rule against what it says in other words."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triptych import BFloat16, Float16, Float32, Int4, Int8, Uint8
from triptych.utils import mixed_input_helpers as helpers


@given(st.integers(1, 1 << 20), st.sampled_from([1, 16, 128]))
def test_divisibility_is_the_largest_power_of_two_that_divides(extent: int, bound: int) -> None:
    found = helpers.get_divisibility(extent, bound)
    powers = [1 << bit for bit in range(21)]
    assert found == max(power for power in powers if extent % power == 0 and power <= bound)
    assert helpers.get_divisibility(extent) == helpers.get_divisibility(extent, 128)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (("k", 256, Int4, BFloat16, 128), True),
        (("m", 256, Int4, BFloat16, 128), False),
        (("k", 252, Int4, BFloat16, 128), False),
        (("k", 256, Int4, BFloat16, 12), False),
        (("k", 256, Int8, BFloat16, 128), False),
        (("k", 256, Int4, Float16, 128), False),
    ],
)
def test_only_rows_of_four_bits_may_be_shuffled(given: Any, expected: bool) -> None:
    assert helpers.is_shuffle_a(*given) is expected


TILES = [
    ((128, 128, 64), (1, 1), False, True),
    ((64, 8, 16), (1, 1), False, True),
    ((128, 256, 128), (2, 8), False, True),
    ((256, 16, 128), (2, 1), True, True),
    ((128, 32, 128), (4, 2), True, True),
    ((256, 128, 64), (1, 1), False, False),  # more rows than an instruction of one CTA has
    ((64, 128, 64), (2, 1), True, False),
    ((128, 264, 64), (1, 1), False, False),
    ((128, 12, 64), (1, 1), False, False),
    ((256, 24, 64), (2, 1), True, False),
    ((128, 128, 24), (1, 1), False, False),
    ((128, 128, 0), (1, 1), False, False),
    ((256, 128, 64), (1, 2), True, False),  # half a pair
    ((128, 128, 64), (3, 1), False, False),
    ((128, 128, 64), (0, 1), False, False),
    ((128, 128, 64), (8, 4), False, False),
]


@pytest.mark.parametrize(("tile", "cluster", "pair", "expected"), TILES)
def test_tiles_and_clusters(tile: Any, cluster: Any, pair: bool, expected: bool) -> None:
    assert helpers.is_valid_mma_tiler_and_cluster_shape(tile, cluster, pair) is expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ((1, 128, Int4, 512, 64), True),
        ((1, 512, Int4, 512, 128), True),
        ((0, 0, Int4, 512, 128), False),
        ((2, 128, Int4, 512, 128), False),
        ((1, 64, Int4, 512, 128), False),
        ((1, 384, Int4, 512, 128), False),
        ((0, 0, Int8, 512, 128), True),
        ((0, 0, Uint8, 500, 128), True),
        ((1, 128, Int8, 512, 128), False),
    ],
)
def test_only_four_bits_have_scales(given: Any, expected: bool) -> None:
    assert helpers.is_valid_scale_granularity(*given) is expected


def _aligned(m: int = 256, n: int = 256, k: int = 256, **other: Any) -> bool:
    given = {
        "a_dtype": Int4,
        "b_dtype": BFloat16,
        "c_dtype": Float32,
        "scale_dtype": BFloat16,
        "a_major": "m",
        "b_major": "k",
        "c_major": "n",
        "mma_tiler_mnk": (128, 128, 64),
        "use_2cta_instrs": False,
        "cluster_shape_mn": (1, 1),
        "scale_granularity_m": 1,
        "scale_granularity_k": 64,
    }
    return helpers.is_valid_tensor_alignment(m, n, k, **{**given, **other})


def test_strides_are_whole_units_of_tma() -> None:
    assert _aligned()
    assert _aligned(m=32)
    assert not _aligned(m=16)  # eight bytes of A
    assert _aligned(m=8, a_major="k")
    assert not _aligned(m=4, a_major="k")  # eight bytes of scales
    assert _aligned(m=4, a_major="k", a_dtype=Int8, scale_granularity_m=0, scale_granularity_k=0)
    assert not _aligned(k=24, a_major="k", b_major="n")
    assert not _aligned(k=132)
    assert _aligned(k=132, b_major="n")
    assert not _aligned(n=132, b_major="n")
    assert not _aligned(n=130)
    assert _aligned(n=130, c_major="m")


def test_each_cta_of_a_multicast_loads_whole_units_of_scales() -> None:
    assert _aligned(cluster_shape_mn=(1, 16))
    assert not _aligned(cluster_shape_mn=(1, 16), mma_tiler_mnk=(64, 128, 64))
    assert not _aligned(cluster_shape_mn=(2, 16), mma_tiler_mnk=(128, 128, 64), use_2cta_instrs=True)
