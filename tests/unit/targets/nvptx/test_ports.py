"""The kernels whose code is counted compute what they should: on the CPU, and as PTX on the PTX simulator."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.sass_programs import elementwise, normalisation

from triptych.cute.runtime import from_dlpack

pytestmark = pytest.mark.usefixtures("every_machine")

SHAPES = [(16, 128), (5, 200), (33, 257), (1, 1)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_add_and_relu_of_any_shape(shape: tuple[int, int]) -> None:
    a, b = np.random.default_rng(0).random((2, *shape), np.float32) - 0.5
    c, positive = np.empty_like(a), np.empty_like(a)
    elementwise.add_by_layout(a, b, c)
    elementwise.relu(a, positive)
    np.testing.assert_array_equal(c, a + b)
    np.testing.assert_array_equal(positive, np.maximum(a, 0))


def test_add_of_whole_vectors() -> None:
    a, b = np.random.default_rng(0).random((2, 64, 1024), np.float32)
    c = np.empty_like(a)
    elementwise.vector_add(a, b, c)
    np.testing.assert_array_equal(c, a + b)


def test_rms_norm_of_rows() -> None:
    random = np.random.default_rng(0)
    x = random.standard_normal((6, normalisation.COLUMNS)).astype(np.float16)
    weight = random.standard_normal(normalisation.COLUMNS).astype(np.float16)
    y = np.empty_like(x)
    normalisation.rms_norm(*(from_dlpack(tensor, assumed_align=16) for tensor in (y, x, weight)), 1e-6)
    wide = x.astype(np.float64)
    expected = wide / np.sqrt((wide**2).mean(axis=1, keepdims=True) + 1e-6) * weight
    np.testing.assert_allclose(y, expected, rtol=2e-3, atol=1e-3)
