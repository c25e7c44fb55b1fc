"""Kernels of asynchronous copies and products as PTX, on the PTX simulator: as on the CPU, whatever comes when."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from tests.support.ptx.handwritten import ORDERS
from tests.support.ptx.unified import numpy_gpu
from tests.unit.cute.arch import test_mbarriers
from tests.unit.cute.copies import test_tma_copies
from tests.unit.cute.nvgpu.warpgroup import test_warpgroup
from tests.unit.cute.pipeline import test_mbarrier_pipelines
from tests.unit.targets.cpu.emit import test_clusters
from tests.unit.targets.nvptx.tools import needs_assembler

pytestmark = needs_assembler
Kind = test_warpgroup.Kind
CASES: dict[str, Callable[[], Any]] = {
    "ring": test_mbarriers.test_what_is_awaited_is_there,
    "states": partial(
        test_mbarrier_pipelines.test_consumers_read_what_producers_wrote, test_mbarrier_pipelines.with_states, 1
    ),
    "handles": partial(
        test_mbarrier_pipelines.test_consumers_read_what_producers_wrote, test_mbarrier_pipelines.with_handles, 2
    ),
    "box": partial(test_tma_copies.test_a_box_is_loaded_through_its_swizzle_also_over_the_edge, 2),
    "product": partial(test_warpgroup.product, Kind.K_SW64, Kind.MN_SW32, n=16),
    "cluster": partial(test_clusters.test_asynchronous_stores_are_counted_where_they_go, 2),
    "neighbours": partial(test_clusters.test_blocks_read_what_others_of_their_cluster_wrote, (4, 2, 2), (2, 2, 1)),
    "masks": test_clusters.test_masks_of_blocks_that_only_the_run_knows,
    "arrivals": test_clusters.test_arrivals_at_the_barriers_of_others,
}


@pytest.mark.parametrize("name", CASES)
def test_kernel_does_the_same_in_every_order(name: str) -> None:
    with numpy_gpu("sm_90a") as library:
        for order in ORDERS:
            library.gpu.order = order
            CASES[name]()
