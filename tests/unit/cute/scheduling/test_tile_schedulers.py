"""Persistent schedulers: every tile of a problem is given out exactly once, in the order that plain Python counts."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import triptych as tt
from tests.support.examples import examples
from triptych import cute
from triptych.cute.tracing.errors import TensorShapeError
from triptych.utils import (
    PersistentTileSchedulerParams,
    StaticPersistentGroupTileScheduler,
    StaticPersistentRuntimeTileScheduler,
    StaticPersistentTileScheduler,
    create_initial_search_state,
)

counts = st.tuples(st.integers(1, 9), st.integers(1, 9), st.integers(1, 3))
clusters = st.tuples(st.integers(1, 3), st.integers(1, 3), st.just(1))


@given(counts, clusters, st.integers(1, 5), st.booleans())
def test_an_order_has_each_cluster_once(
    tiles: tuple[int, int, int], cluster: tuple[int, int, int], swizzle: int, along_m: bool
) -> None:
    params = PersistentTileSchedulerParams(tiles, cluster, swizzle, along_m)
    m, n, layers = params.clusters_mnl
    order = [params.cluster_at(number) for number in range(params.clusters)]
    assert sorted(order) == [(i, j, k) for i in range(m) for j in range(n) for k in range(layers)]
    assert [place[2] for place in order] == sorted(place[2] for place in order)
    assert params.problem_layout_ncluster_mnl.shape == (m, n, layers)


@given(counts, st.integers(2, 4))
def test_a_stripe_is_left_before_the_next_begins(tiles: tuple[int, int, int], swizzle: int) -> None:
    params = PersistentTileSchedulerParams(tiles, (1, 1, 1), swizzle, True)
    m, n, _ = tiles
    stripes = [params.cluster_at(number)[1] // swizzle for number in range(m * n)]
    assert stripes == sorted(stripes)


@given(counts, clusters, st.integers(1, 40))
def test_the_grid_is_clusters_that_run_together(
    tiles: tuple[int, int, int], cluster: tuple[int, int, int], most: int
) -> None:
    params = PersistentTileSchedulerParams(tiles, cluster)
    grid = StaticPersistentTileScheduler.get_grid_shape(params, most)
    assert grid == (*cluster[:2], min(most, params.clusters))


def test_parameters_that_make_no_sense() -> None:
    with pytest.raises(TensorShapeError, match="k"):
        PersistentTileSchedulerParams((1, 1, 1), (1, 1, 2))
    with pytest.raises(TensorShapeError, match="stripe"):
        PersistentTileSchedulerParams((1, 1, 1), (1, 1, 1), 0)


@cute.kernel
def _visit(params: PersistentTileSchedulerParams, visits: cute.Tensor, steps: cute.Tensor) -> None:
    scheduler = StaticPersistentTileScheduler.create(params, cute.arch.block_idx(), cute.arch.grid_dim())
    work = scheduler.initial_work_tile_info()
    while work.is_valid_tile:
        m, n, layer = work.tile_idx
        visits[m, n, layer] = visits[m, n, layer] + 1
        steps[m, n, layer] = scheduler.num_tiles_executed
        scheduler.advance_to_next_work()
        work = scheduler.get_current_work()


@cute.jit
def visit(
    visits: cute.Tensor,
    steps: cute.Tensor,
    m: tt.Int32,
    n: tt.Int32,
    layers: tt.Int32,
    most: tt.Int32,
    cluster: tt.Constexpr[tuple[int, int, int]],
    swizzle: tt.Constexpr[int],
    along_m: tt.Constexpr[bool],
) -> None:
    params = PersistentTileSchedulerParams((m, n, layers), cluster, swizzle, along_m)
    grid = StaticPersistentTileScheduler.get_grid_shape(params, most)
    _visit(params, visits, steps).launch(grid=grid, block=1)


@pytest.mark.parametrize("cluster", [(1, 1, 1), (2, 1, 1), (2, 2, 1)])
@pytest.mark.parametrize(("swizzle", "along_m"), [(1, True), (1, False), (2, True), (3, False)])
def test_blocks_visit_each_tile_once(cluster: tuple[int, int, int], swizzle: int, along_m: bool) -> None:
    @examples(15)
    @given(counts, st.integers(1, 20))
    def check(tiles: tuple[int, int, int], most: int) -> None:
        params = PersistentTileSchedulerParams(tiles, cluster, swizzle, along_m)
        rows, columns, _ = cluster
        m, n, layers = params.clusters_mnl
        visits, steps = (np.zeros((m * rows, n * columns, layers), np.int32) for _ in range(2))
        visit(visits, steps, *tiles, most, cluster, swizzle, along_m)
        assert (visits == 1).all()
        launched = min(most, params.clusters)
        for number in range(params.clusters):
            i, j, k = params.cluster_at(number)
            assert (steps[i * rows : (i + 1) * rows, j * columns : (j + 1) * columns, k] == number // launched).all()

    check()


@cute.kernel
def _walk(params: PersistentTileSchedulerParams, places: cute.Tensor, inner_mode: tt.Constexpr[int]) -> None:
    _, _, block = cute.arch.block_idx()
    scheduler = StaticPersistentRuntimeTileScheduler.create(
        params, cute.arch.block_idx(), cute.arch.grid_dim(), inner_mode=inner_mode
    )
    for step in range(places.shape[1]):
        work = scheduler.get_current_work()
        places[block, step, 0] = work.tile_idx[0]
        places[block, step, 1] = work.tile_idx[1]
        scheduler.advance_to_next_work()


@cute.jit
def walk(places: cute.Tensor, m: tt.Int32, n: tt.Int32, inner_mode: tt.Constexpr[int]) -> None:
    params = PersistentTileSchedulerParams((m, n, 1), (2, 1, 1))
    _walk(params, places, inner_mode).launch(grid=(2, 1, places.shape[0]), block=1)


@pytest.mark.parametrize("inner_mode", [0, 1])
def test_the_outer_mode_of_a_run_time_scheduler_has_no_end(inner_mode: int) -> None:
    places = np.full((3, 5, 2), -1, np.int32)
    walk(places, 5, 4, inner_mode)
    inner = (3, 4)[inner_mode]
    for block in range(3):
        for step in range(5):
            number = block + 3 * step
            expected = (number % inner, number // inner)
            assert tuple(places[block, step]) == (expected if inner_mode == 0 else expected[::-1])


@cute.kernel
def _visit_groups(
    params: PersistentTileSchedulerParams, sizes: cute.Tensor, seen: cute.Tensor, count: tt.Constexpr[int]
) -> None:
    scheduler = StaticPersistentGroupTileScheduler.create(
        params,
        cute.arch.block_idx(),
        cute.arch.grid_dim(),
        (32, 16, 8),
        create_initial_search_state(),
        count,
        sizes,
    )
    work = scheduler.initial_work_tile_info()
    while work.is_valid_tile:
        found = work.group_search_result
        at = seen[found.group_idx, found.cta_tile_idx_m, found.cta_tile_idx_n]
        seen[found.group_idx, found.cta_tile_idx_m, found.cta_tile_idx_n] = at + 1 + 100 * found.cta_tile_count_k
        scheduler.advance_to_next_work()
        work = scheduler.get_current_work()


@cute.jit
def visit_groups(
    sizes: cute.Tensor, seen: cute.Tensor, total: tt.Int32, most: tt.Int32, count: tt.Constexpr[int]
) -> None:
    params = PersistentTileSchedulerParams((2, 1, total), (2, 1, 1))
    grid = StaticPersistentGroupTileScheduler.get_grid_shape(params, most)
    _visit_groups(params, sizes, seen, count).launch(grid=grid, block=1)


@examples(15)
@given(st.lists(st.tuples(*[st.integers(1, 90)] * 3), min_size=3, max_size=3), st.integers(1, 9), st.booleans())
def test_blocks_visit_each_tile_of_each_problem_once(
    problems: list[tuple[int, int, int]], most: int, is_known: bool
) -> None:
    """A host that does not know the sizes says that there are as many clusters as run together: fewer, or more."""
    sizes = np.array([(*problem, 1) for problem in problems], np.int32)
    seen = np.zeros((3, 2 * 3, 6), np.int32)
    extents = [(-(-m // 32), -(-n // 16), -(-k // 8)) for m, n, k in problems]
    visit_groups(sizes, seen, sum(m * n for m, n, _ in extents) if is_known else most, most, 3)
    expected = np.zeros_like(seen)
    for group, (m, n, k) in enumerate(extents):
        expected[group, : 2 * m, :n] = 1 + 100 * k
    assert (seen == expected).all()
    assert Counter(np.unique(seen % 100).tolist()).keys() <= {0, 1}
