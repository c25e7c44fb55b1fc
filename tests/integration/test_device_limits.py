"""What a launch may ask for is what the target's `DeviceModel` says, for numbers that tracing knows and for others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np
import pytest

import triptych as tt
from triptych import cute
from triptych.diagnostics.kernel_errors import LaunchShapeError
from triptych.objectstage.target import TARGETS, find_target
from triptych.support.device_model import COMMON, DeviceModel

Register = Callable[..., str]
_NUMBERS = count()


@pytest.fixture
def target(monkeypatch: pytest.MonkeyPatch) -> Register:
    """Registers the CPU with other limits and gives its name."""
    monkeypatch.setattr(TARGETS, "_loaded", dict(TARGETS._loaded))

    def register(**limits: Any) -> str:
        name = f"limited-{next(_NUMBERS)}"  # compiled code is found again by the name of its target
        TARGETS.register(name, replace(find_target("cpu"), name=name, device_model=DeviceModel(**limits)))
        return name

    return register


@tt.kernel
def counted(out: cute.Tensor) -> None:
    cute.arch.atomic_add(out.iterator, 1)


@tt.kernel
def shares(out: cute.Tensor) -> None:
    cute.SmemAllocator().allocate_tensor(tt.Uint8, cute.make_layout(1025))
    out[0] = 1


def threads_of(target: str, grid: Any, block: Any, kernel: Any = counted, smem: Any = 0, *, traced: bool) -> int:
    """How many threads run; where `traced`, the launch's numbers are known while it is traced."""

    @tt.jit
    def at_run_time(out: cute.Tensor, grid: Any, block: Any, smem: Any) -> None:
        kernel(out).launch(grid=grid, block=block, smem=smem)

    @tt.jit
    def while_tracing(out: cute.Tensor) -> None:
        kernel(out).launch(grid=grid, block=block, smem=smem)

    out = np.zeros(1, np.int32)
    launch, given = (while_tracing, (out,)) if traced else (at_run_time, (out, grid, block, smem))
    tt.compile(launch, *given, target=target)(*given)
    return int(out[0])


known = pytest.mark.parametrize("traced", [True, False])
BY_DIMENSION = (512, 8, 4)
SMALL = {"threads": 512, "threads_by_dimension": BY_DIMENSION, "blocks_by_dimension": (10, 5, 2), "shared_bytes": 1024}


@known
@pytest.mark.parametrize(
    ("grid", "block", "says"),
    [
        ((11, 1, 1), (1, 1, 1), "0 to 10"),
        ((1, 6, 1), (1, 1, 1), "0 to 5"),
        ((1, 1, 3), (1, 1, 1), "0 to 2"),
        ((1, 1, 1), (513, 1, 1), "1 to 512"),
        ((1, 1, 1), (1, 9, 1), "1 to 8"),
        ((1, 1, 1), (1, 1, 5), "1 to 4"),
        ((1, 1, 1), (128, 5, 1), "at most 512 in all"),
    ],
)
def test_dimensions_beyond_the_limits_are_refused(
    target: Register, grid: tuple[int, ...], block: tuple[int, ...], says: str, traced: bool
) -> None:
    with pytest.raises(LaunchShapeError, match=says):
        threads_of(target(**SMALL), grid, block, traced=traced)


def test_shared_memory_beyond_the_limit_is_refused(target: Register) -> None:
    name = target(**SMALL)
    for traced in (True, False):
        with pytest.raises(LaunchShapeError, match="0 to 1024 bytes"):
            threads_of(name, 1, 1, smem=1025, traced=traced)
    with pytest.raises(LaunchShapeError, match="at most 1024 bytes"):
        threads_of(name, 1, 1, shares, traced=True)


@known
def test_the_largest_launch_runs(target: Register, traced: bool) -> None:
    assert threads_of(target(**SMALL), (10, 5, 2), (128, 1, 4), smem=1024, traced=traced) == 100 * 512


@known
def test_blocks_may_be_larger_than_those_of_most_machines(target: Register, traced: bool) -> None:
    assert threads_of(target(threads=4096, threads_by_dimension=(4096, 1, 1)), 1, 4000, traced=traced) == 4000


def test_a_warp_is_a_power_of_two_and_divides_the_largest_block() -> None:
    assert (COMMON.lanes, COMMON.all_lanes, COMMON.mask_bits, COMMON.warps) == (32, 2**32 - 1, 32, 32)
    wide = DeviceModel(lanes=64)
    assert (wide.all_lanes, wide.mask_bits, wide.warps) == (2**64 - 1, 64, 16)
    assert (DeviceModel(lanes=2).all_lanes, DeviceModel(lanes=2).mask_bits) == (3, 32)
    for lanes, threads in ((48, 960), (1, 1024), (128, 1024), (64, 96)):
        with pytest.raises(ValueError, match="power of two of lanes, 2 to 64"):
            DeviceModel(lanes=lanes, threads=threads)
