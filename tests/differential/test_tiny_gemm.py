"""A product in tiles, of stages that boxes fill and warpgroups empty: NumPy's on the CPU and as PTX, to the bit."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

import triptych as tt
from tests.support.ptx.unified import numpy_gpu
from tests.support.tiny_gemm import tiny_gemm
from tests.unit.targets.nvptx.tools import needs_assembler
from triptych.cute.runtime import from_dlpack


def agrees(stages: int, cluster: tuple[int, int]) -> None:
    random = np.random.default_rng(stages)
    a, b = (random.integers(-3, 4, shape).astype(np.float16) for shape in ((128, 96), (32, 96)))
    d = np.zeros((128, 32), np.float16)
    tiny_gemm(*(from_dlpack(each, assumed_align=16) for each in (a, b, d)), tt.Float32, stages, cluster)
    np.testing.assert_array_equal(d, a.astype(np.float32) @ b.astype(np.float32).T)


@pytest.mark.parametrize(("stages", "cluster"), [(2, (1, 1)), (3, (2, 2))])
@pytest.mark.parametrize("machine", ["cpu", pytest.param("sm_90a", marks=needs_assembler)])
def test_tiles_agree_with_numpy(machine: str, stages: int, cluster: tuple[int, int]) -> None:
    place: Any = nullcontext() if machine == "cpu" else numpy_gpu(machine)
    with place as library:
        agrees(stages, cluster)
        if library is not None and cluster == (2, 2):
            for order in ("early", 1):
                library.gpu.order = order
                agrees(stages, cluster)
