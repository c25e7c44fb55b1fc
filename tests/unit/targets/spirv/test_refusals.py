"""What OpenCL cannot do is an error at the user's line, with its reason; nothing of it is compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import triptych as tt
from triptych import cute
from triptych.objectstage.device_errors import ArchitectureError

X = np.zeros(64, np.int32)


def refusal(kernel: Any, **launch: Any) -> ArchitectureError:
    @tt.jit
    def run(x: cute.Tensor) -> None:
        kernel(x).launch(grid=1, block=64, **launch)

    with pytest.raises(ArchitectureError, match="OpenCL cannot do this") as raised:
        tt.compile(run, X, target="spirv")
    assert raised.value.span is not None
    assert raised.value.span.file == __file__
    return raised.value


@tt.kernel
def named_barrier(x: cute.Tensor) -> None:
    cute.arch.barrier(barrier_id=1, number_of_threads=64)
    x[0] = 1


@tt.kernel
def ended_threads(x: cute.Tensor) -> None:
    thread, _, _ = cute.arch.thread_idx()
    if thread < 20:
        x[thread] = 1
        cute.arch.sync_threads()
        x[thread] = 2


@tt.kernel
def spinning(x: cute.Tensor) -> None:
    while cute.arch.atomic_add(x.iterator, 0) == 0:
        pass
    x[1] = 1


@tt.kernel
def printing(x: cute.Tensor) -> None:
    cute.printf("x is {}", x[0])


@tt.kernel
def four_bits(x: cute.Tensor) -> None:
    x[0] = tt.Int32(tt.Int4(x[1]) + tt.Int4(x[2]))


@tt.kernel
def many_bits(x: cute.Tensor) -> None:
    x[0] = tt.Int32(tt.Int128(x[1]) * tt.Int128(x[2]) // 3)


REFUSED: dict[str, tuple[Callable[..., Any], str]] = {
    "named barrier": (named_barrier, "a named barrier"),
    "threads that ended": (ended_threads, "a barrier that some threads of a block may not come to"),
    "warps that spin": (spinning, "a loop that waits for what another thread writes"),
    "integers of four bits": (four_bits, "i4"),
    "integers of 128 bits": (many_bits, "i128"),
    "printing": (printing, "gpu.printf"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_kernel_is_refused_at_its_line(name: str) -> None:
    kernel, found = REFUSED[name]
    assert found in refusal(kernel).found


@tt.kernel
def plain(x: cute.Tensor) -> None:
    x[0] = 1


def test_launches_in_clusters_are_refused() -> None:
    assert refusal(plain, cluster=(2, 1, 1)).found == "a launch in clusters"
