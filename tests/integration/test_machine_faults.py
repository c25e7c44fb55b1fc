"""Faults of the machine in kernels: the process says which kernel and launch it was, and ends by the signal as ever."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from tests.integration.subprograms import run

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="faults say nothing on other systems")

PROGRAM = """
import faulthandler, os, resource, signal, sys, threading
import numpy as np
import triptych as tt
from triptych import cute

resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
when, where, blocks = sys.argv[1:]
if when == "before":
    faulthandler.enable()

@tt.kernel
def writes_far_away(a: cute.Tensor, n: tt.Int64):
    block, _, _ = cute.arch.block_idx()
    a[n * (block + 1)] = 1

@tt.kernel
def fills_the_stack(a: cute.Tensor, n: tt.Int64):
    thread, _, _ = cute.arch.thread_idx()
    own = cute.make_rmem_tensor(16384, tt.Int8)
    for i in range(16384):
        own[i] = a[0]
    cute.arch.sync_threads()
    a[thread] = own[n]

@tt.jit
def launch(a: cute.Tensor, n: tt.Int64, blocks: tt.Int32):
    writes_far_away(a, n).launch(grid=blocks, block=1)  # far

@tt.jit
def launch_deep(a: cute.Tensor, n: tt.Int64, blocks: tt.Int32):
    fills_the_stack(a, n).launch(grid=blocks, block=1024)  # deep

a = np.zeros(1024, np.int8)
launch(a, 0, 64)
if when == "after":
    faulthandler.enable()
if when == "python":
    signal.signal(signal.SIGSEGV, signal.SIG_DFL)
far = (a, 1 << 44, int(blocks))
if where == "thread":
    thread = threading.Thread(target=launch, args=far)
    thread.start()
    thread.join()
elif where == "sent":
    os.kill(os.getpid(), signal.SIGSEGV)
elif where == "child":
    child = os.fork()
    if child == 0:
        launch(*far)
    os._exit(-os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
elif where == "stack":
    threading.stack_size(1 << 20)
    launch_deep(a, 5, int(blocks))
else:
    launch(*far)
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The path of the program: its lines are looked up when it is compiled."""
    path = tmp_path_factory.mktemp("faults") / "program.py"
    path.write_text(PROGRAM)
    return str(path)


def said(finished: subprocess.CompletedProcess[str], program: str, kernel: str, mark: str) -> bool:
    line = next(i for i, text in enumerate(PROGRAM.splitlines(), start=1) if text.endswith(f"# {mark}"))
    text = f"triptych: SIGSEGV in the kernel {kernel}, launched at {program}:{line}\n"
    return text in finished.stderr and "TRIPTYCH_DEBUG=bounds" in finished.stderr


@pytest.mark.parametrize("when", ["never", "before", "after"])
@pytest.mark.parametrize("blocks", ["1", "200"])
def test_a_fault_names_the_kernel_and_its_launch(program: str, when: str, blocks: str) -> None:
    finished = run(program, when, "here", blocks)
    assert finished.returncode == -signal.SIGSEGV
    assert said(finished, program, "writes_far_away", "far"), finished.stderr
    told = "Fatal Python error: Segmentation fault" in finished.stderr
    if when == "never":
        assert not told
    elif blocks == "1":
        assert told
    # faulthandler takes its own action back before it writes: a second thread that faults then ends the process.


def test_a_fault_in_another_thread(program: str) -> None:
    finished = run(program, "never", "thread", "1")
    assert finished.returncode == -signal.SIGSEGV
    assert said(finished, program, "writes_far_away", "far"), finished.stderr


def test_a_fault_in_a_forked_child(program: str) -> None:
    finished = run(program, "never", "child", "200")
    assert finished.returncode == signal.SIGSEGV
    assert said(finished, program, "writes_far_away", "far"), finished.stderr


@pytest.mark.parametrize("blocks", ["1", "64"])
def test_a_full_stack(program: str, blocks: str) -> None:
    finished = run(program, "never", "stack", blocks)
    if finished.returncode == 0:
        pytest.skip("the stack was large enough")
    assert finished.returncode == -signal.SIGSEGV
    assert said(finished, program, "fills_the_stack", "deep"), finished.stderr


@pytest.mark.parametrize("when", ["never", "before", "after"])
def test_a_signal_that_no_kernel_caused_is_not_commented_on(program: str, when: str) -> None:
    finished = run(program, when, "sent", "1")
    assert finished.returncode == -signal.SIGSEGV
    assert "triptych:" not in finished.stderr


def test_who_sets_an_action_later_has_it(program: str) -> None:
    finished = run(program, "python", "here", "1")
    assert finished.returncode == -signal.SIGSEGV
    assert finished.stderr == ""
