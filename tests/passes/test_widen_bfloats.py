"""`widen-bfloats`: pairs of BFloat16 become Float32 by a shift and a mask."""

from __future__ import annotations

import pytest

from tests.passes.running import checked, kernel
from triptych.targets.nvptx.passes.narrow_floats import widen_bfloats


def widening(source: str, result: str) -> str:
    return kernel(f"%0 = arith.extf %v : {source} to {result}", f"%v: {source}")


def test_the_lower_one_is_shifted_and_the_upper_one_is_left_in_place() -> None:
    checked(
        widening("vector<2xbf16>", "vector<2xf32>"),
        widen_bfloats,
        """
        # CHECK: %0 = llvm.bitcast %arg0 : vector<2xbf16> to i32
        # CHECK: %1 = arith.shli %0, %c16_i32 : i32
        # CHECK: arith.constant -65536 : i32
        # CHECK: %2 = arith.andi %0, %c-65536_i32 : i32
        # CHECK: %3 = arith.bitcast %1 : i32 to f32
        # CHECK: %4 = arith.bitcast %2 : i32 to f32
        # CHECK: vector.from_elements %3, %4 : vector<2xf32>
        # CHECK-NOT: arith.extf
        """,
    )


def test_every_pair_of_a_vector() -> None:
    checked(
        widening("vector<6xbf16>", "vector<6xf32>"),
        widen_bfloats,
        """
        # CHECK: vector.shuffle {{.*}} [0, 1] : vector<6xbf16>, vector<6xbf16>
        # CHECK: vector.shuffle {{.*}} [2, 3] : vector<6xbf16>, vector<6xbf16>
        # CHECK: vector.shuffle {{.*}} [4, 5] : vector<6xbf16>, vector<6xbf16>
        # CHECK: vector.from_elements {{.*}} : vector<6xf32>
        """,
    )


def test_elements_that_were_put_together_are_taken_as_they_are() -> None:
    checked(
        kernel(
            "%v = vector.from_elements %a, %b, %b, %a : vector<4xbf16>\n"
            "%0 = arith.extf %v : vector<4xbf16> to vector<4xf32>",
            "%a: bf16, %b: bf16",
        ),
        widen_bfloats,
        """
        # CHECK: vector.from_elements %arg0, %arg1 : vector<2xbf16>
        # CHECK: vector.from_elements %arg1, %arg0 : vector<2xbf16>
        # CHECK-NOT: vector.shuffle
        """,
    )


@pytest.mark.parametrize(
    ("source", "result"),
    [
        ("bf16", "f32"),
        ("vector<3xbf16>", "vector<3xf32>"),
        ("vector<2xbf16>", "vector<2xf64>"),
        ("vector<2xf16>", "vector<2xf32>"),
    ],
)
def test_other_conversions_stay(source: str, result: str) -> None:
    checked(widening(source, result), widen_bfloats, "# CHECK-NOT: llvm.bitcast\n# CHECK: arith.extf")
