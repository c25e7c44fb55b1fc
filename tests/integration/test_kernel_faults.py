"""Programs that go wrong in a kernel or at its launch: each is one error at its line, and the process goes on."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import triptych
import triptych as tt
from tests.integration.faults import computing, launching, memory, waiting
from tests.integration.faults.fault import Fault, note, pointed_line
from triptych import cute
from triptych.diagnostics.runtime_errors import AssertionFailedError, OutOfBoundsError
from triptych.support.config import override

FAULTS = [*memory.FAULTS, *waiting.FAULTS, *computing.FAULTS, *launching.FAULTS]
DEBUG, PLAIN = "bounds", ""


@tt.kernel
def double(a: cute.Tensor, out: cute.Tensor) -> None:
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    shared = cute.SmemAllocator().allocate_tensor(tt.Float32, cute.make_layout(128))
    shared[thread] = a[block, thread]
    cute.arch.sync_threads()
    out[block, 127 - thread] = shared[127 - thread] * 2.0


@tt.jit
def doubled(a: cute.Tensor, out: cute.Tensor) -> None:
    double(a, out).launch(grid=a.shape[0], block=128)


def good_launch_works() -> bool:
    """Whether a kernel that has nothing wrong still computes what it should."""
    a = np.arange(40 * 128, dtype=np.float32).reshape(40, 128)
    out = np.zeros_like(a)
    doubled(a, out)
    return bool((out == 2 * a).all())


def check(fault: Fault) -> None:
    with pytest.raises(fault.error) as raised:
        fault.call()
    assert type(raised.value) is fault.error
    assert f"[{fault.error.code}] " in str(raised.value)
    assert fault.line in pointed_line(raised.value)
    if fault.block is not None and fault.thread is not None:
        assert note(fault.block, fault.thread) in str(raised.value)
    assert good_launch_works()


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_debug_build_reports_it(fault: Fault) -> None:
    with override(debug=DEBUG):
        check(fault)


@pytest.mark.parametrize("fault", [fault for fault in FAULTS if fault.always], ids=lambda fault: fault.name)
def test_every_build_reports_it(fault: Fault) -> None:
    with override(debug=PLAIN):
        check(fault)


def test_the_line_of_the_others_is_named() -> None:
    with pytest.raises(RuntimeError) as raised:
        next(fault for fault in waiting.FAULTS if fault.name == "two_barriers_of_a_block").call()
    source = Path(waiting.__file__).read_text(encoding="utf-8").splitlines()
    last = next(i for i, line in enumerate(source, start=1) if "# last warp" in line)
    assert f"others wait at line {last - 2}" in str(raised.value)


# memory stays as it was -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("kernel", memory.STORES, ids=lambda kernel: kernel.__name__)
@given(count=st.integers(0, 200), step=st.integers(-3, 3), start=st.integers(-60, 260), blocks=st.integers(1, 3))
def test_only_the_tensor_is_written(kernel: Any, count: int, step: int, start: int, blocks: int) -> None:
    array, whole = memory.guarded(count)
    width = memory.STORES[kernel]
    firsts = np.arange(blocks * 64) * step + start
    outside = {int(i) for i in np.flatnonzero((firsts < 0) | (firsts + width > count))}
    with override(debug=DEBUG):
        if outside:
            with pytest.raises(OutOfBoundsError) as raised:
                memory.launch(kernel, (array, step, start), blocks, 64)
            notes = {note((i // 64, 0, 0), (i % 64, 0, 0)) for i in outside}
            assert any(text in str(raised.value) for text in notes)
        else:
            memory.launch(kernel, (array, step, start), blocks, 64)
            assert (array[firsts] != memory.GUARD).all()
    assert memory.is_intact(whole)


@tt.kernel
def predicated(a: cute.Tensor) -> None:
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    i = block * 64 + thread
    if i < a.shape[0]:
        a[i] = a[i] + 1.0


@pytest.mark.parametrize("count", [0, 1, 31, 64, 65, 191, 192])
def test_threads_that_do_not_come_to_an_access_do_not_fault(count: int) -> None:
    array, whole = memory.guarded(count)
    with override(debug=DEBUG):
        memory.launch(predicated, (array,), 3, 64)
    assert (array == memory.GUARD + 1).all()
    assert memory.is_intact(whole)


# the process goes on --------------------------------------------------------------------------------------------------
SURVIVES = """
from tests.integration.test_kernel_faults import FAULTS, good_launch_works

for _ in range(2):
    for fault in FAULTS:
        try:
            fault.call()
        except fault.error as error:
            assert fault.error.code in str(error)
        else:
            print(fault.name, "has raised nothing")
        if not good_launch_works():
            print("wrong results after", fault.name)
print("survived", len(FAULTS))
"""


@pytest.mark.parametrize("threads", [1, 3])
def test_one_process_survives_them_all(threads: int) -> None:
    root = Path(__file__).parents[2]
    settings = {"TRIPTYCH_DEBUG": DEBUG, "TRIPTYCH_THREADS": str(threads)}
    path = os.pathsep.join((str(Path(triptych.__file__).parents[1]), str(root)))
    finished = subprocess.run(
        [sys.executable, "-c", SURVIVES],
        env={**os.environ, **settings, "PYTHONPATH": path},
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert (finished.stdout, finished.stderr, finished.returncode) == (f"survived {len(FAULTS)}\n", "", 0)


def test_ten_thousand_faulting_blocks_are_one_error() -> None:
    with override(debug=DEBUG), pytest.raises(OutOfBoundsError):
        memory.launch(memory.store, (memory.guarded(1)[0], 0, 1), 10_000, 64)
    assert good_launch_works()


def test_each_python_thread_gets_its_own_error() -> None:
    wrong: list[str] = []

    def work(bad: int) -> None:
        for _ in range(20):
            try:
                computing.launch(computing.asserts, np.zeros(256, np.int32), bad)
                wrong.append(f"nothing raised for {bad}")
            except AssertionFailedError as error:
                if note((0, bad // 64, 0), (bad % 8, bad % 64 // 8, 0)) not in str(error):
                    wrong.append(str(error))
            if not good_launch_works():
                wrong.append("wrong result")

    workers = [threading.Thread(target=work, args=(bad,)) for bad in (3, 77, 172, 255)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert wrong == []
