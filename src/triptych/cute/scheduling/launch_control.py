"""Dynamic persistent tile scheduler: a running cluster takes another one of the grid (cluster launch control).

The grid has a cluster for each tile. One thread of a cluster asks for another; the answer is written to the shared
memory of all its blocks, and completes bytes on their mbarriers. A cluster that was taken never begins by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from triptych.cute.arch.async_copies import fence_view_async_shared
from triptych.cute.arch.launch_control import clc_response, issue_clc_query
from triptych.cute.arch.warp import elect_one
from triptych.cute.memory.address_spaces import AddressSpace
from triptych.cute.memory.pointers import Pointer
from triptych.cute.pipeline.states import RunTimeInt
from triptych.cute.scheduling.persistent import Number, PersistentTileSchedulerParams, Three, WorkTileInfo
from triptych.cute.tracing.device import device_function
from triptych.cute.tracing.errors import PointerError
from triptych.metastage.trace.trace import place

RESPONSE_BYTES = 16


class ClcDynamicPersistentTileSchedulerParams(PersistentTileSchedulerParams):
    """The tiles of a problem whose clusters the GPU gives out itself: the grid has one for each."""

    @property
    def grid(self) -> Three:
        """Whole clusters in each mode."""
        (m, n, layers), (rows, columns) = self.clusters_mnl, self.cluster_shape_mn
        return m * rows, n * columns, layers


class ClcDynamicPersistentTileScheduler:
    """Gives a cluster its own tile, then those of clusters that it takes."""

    __slots__ = ("_executed", "_response", "block_in_cluster", "first", "params")
    __runtime_mutable__ = __runtime_state__ = True

    def __init__(
        self,
        params: ClcDynamicPersistentTileSchedulerParams,
        first: Three,
        block_in_cluster: tuple[Number, Number],
        response: Pointer,
        executed: Number,
    ) -> None:
        self.params = params
        self.first = first
        self.block_in_cluster = block_in_cluster
        self._response = response
        self._executed = RunTimeInt(executed)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.params})"

    @classmethod
    @device_function
    def create(
        cls,
        params: ClcDynamicPersistentTileSchedulerParams,
        block_idx: Three,
        grid_dim: Three,
        clc_response_ptr: Pointer,
        **_: object,
    ) -> Self:
        """The scheduler of a block; answers come to 16 bytes of shared memory."""
        response = clc_response_ptr
        if response.memspace is not AddressSpace.smem or response.alignment % RESPONSE_BYTES:
            raise PointerError(
                "the answer of launch control is 16 bytes of shared memory",
                span=place(),
                found=str(response),
                expected="a pointer to shared memory with the alignment 16",
                instead="`cute.struct.Align[cute.struct.MemRange[cutlass.Int32, 4], 16]` as a field",
            )
        rows, columns = params.cluster_shape_mn
        x, y, z = block_idx
        return cls(params, (x - x % rows, y - y % columns, z), (x % rows, y % columns), response, 0)

    @staticmethod
    def get_grid_shape(params: ClcDynamicPersistentTileSchedulerParams, **_: object) -> Three:
        """The grid to launch."""
        return params.grid

    def initial_work_tile_info(self, **_: object) -> WorkTileInfo:
        """The tile of the block itself."""
        return WorkTileInfo(self._tile(self.first), True)

    @device_function
    def advance_to_next_work(self, mbarrier_addr: Pointer, **_: object) -> None:
        """Ask for another cluster; the answer completes 16 bytes on this mbarrier of every block."""
        with elect_one():
            issue_clc_query(mbarrier_addr, self._response)

    @device_function
    def get_current_work(self, **_: object) -> WorkTileInfo:
        """The tile of the answer, which has come; the next one may be written after all threads have read it."""
        *first, given = clc_response(self._response)
        fence_view_async_shared()
        self._executed.set(self._executed.get() + 1)
        x, y, z = first
        return WorkTileInfo(self._tile((x, y, z)), given)

    @property
    def num_tiles_executed(self) -> Any:
        """How many tiles have been passed."""
        return self._executed.get()

    def _tile(self, first: Three) -> Three:
        """Of a cluster by the index of its first block: where the order of tiles is another than that of blocks, the
        tile of the same number."""
        params, (row, column) = self.params, self.block_in_cluster
        x, y, z = first
        if params.swizzle_size == 1 and params.raster_along_m:
            return x + row, y + column, z
        (rows, columns), (m, n, _) = params.cluster_shape_mn, params.clusters_mnl
        m_at, n_at, layer = params.cluster_at(x // rows + m * (y // columns + n * z))
        return m_at * rows + row, n_at * columns + column, layer

    def __extract_mlir_values__(self) -> list[Any]:
        return [*self.first, *self.block_in_cluster, self._response, self._executed.get()]

    def __new_from_mlir_values__(self, values: Sequence[Any]) -> Self:
        x, y, z, row, column, response, executed = values
        return type(self)(self.params, (x, y, z), (row, column), response, executed)
