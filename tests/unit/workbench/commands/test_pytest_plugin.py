"""`pytest --triptych-check` in a suite of a user's own: one run of many tests, and runs that go wrong at the start."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

KERNELS = """
import numpy as np

import triptych as tt
from triptych import cute


@tt.kernel
def neighbours(x: cute.Tensor, ordered: tt.Constexpr):
    t, _, _ = cute.arch.thread_idx()
    shared = cute.SmemAllocator().allocate_tensor(tt.Int32, (64,), 16)
    shared[t] = t
    if ordered:
        cute.arch.sync_threads()
    x[t] = shared[63 - t]


@tt.kernel
def allowed(x: cute.Tensor):
    t, _, _ = cute.arch.thread_idx()
    shared = cute.SmemAllocator().allocate_tensor(tt.Int32, (1,), 16)
    shared[0] = t  # triptych: allow TT0630 any of them may win
    cute.arch.sync_threads()
    x[t] = shared[0]


@tt.jit
def run(x: cute.Tensor, ordered: tt.Constexpr):
    neighbours(x, ordered).launch(grid=1, block=64)


@tt.jit
def run_allowed(x: cute.Tensor):
    allowed(x).launch(grid=1, block=64)


def numbers():
    return np.zeros(64, np.int32)
"""
TESTS = """
import pytest
from kernels import numbers, run, run_allowed

from triptych.support.config import override
from triptych.sanitizer.finding_errors import RaceError


@pytest.fixture
def racy():
    run(numbers(), False)


@pytest.mark.parametrize("ordered", [True, False])
def test_parameters(ordered):
    run(numbers(), ordered)


@pytest.mark.triptych_expect("TT0630")
def test_expected():
    run(numbers(), False)


@pytest.mark.triptych_expect("TT0630")
def test_expected_in_vain():
    run(numbers(), True)


def test_of_its_own():
    with override(debug="races"), pytest.raises(RaceError):
        run(numbers(), False)


def test_fixture(racy):
    pass


@pytest.mark.parametrize("turn", range(2))
def test_allowed(turn):
    run_allowed(numbers())


def test_that_fails_by_itself():
    run(numbers(), False)
    assert 1 == 2
"""
PLUGIN = () if entry_points(group="pytest11", name="triptych") else ("-p", "triptych.workbench.commands.pytest_plugin")
"""For a source tree that is not installed."""
LINE = KERNELS.splitlines().index("    x[t] = shared[63 - t]") + 1


PUBLIC = """
import cutlass
import cutlass.cute as cute
import numpy as np
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def shift(x: cute.Tensor):
    t, _, _ = cute.arch.thread_idx()
    shared = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Int32, cute.make_layout(64), 16)
    shared[t] = t
    x[t] = shared[(t + 1) % 64]


@cute.jit
def run(x: cute.Tensor):
    shift(x).launch(grid=(1, 1, 1), block=(64, 1, 1))


def test_shift():
    run(from_dlpack(np.zeros(64, np.int32)))
"""
FAILING = """
import numpy as np

import triptych as tt
from triptych import cute


@tt.kernel
def far(x: cute.Tensor):
    t, _, _ = cute.arch.thread_idx()
    place = t * 3
    x[place] = t


@tt.jit
def run(x: cute.Tensor):
    far(x).launch(grid=1, block=32)


@tt.kernel
def near(x: cute.Tensor):
    t, _, _ = cute.arch.thread_idx()
    if t == 5:
        breakpoint()
    x[t] = t


@tt.jit
def run_near(x: cute.Tensor):
    near(x).launch(grid=1, block=32)


def test_near():
    run_near(np.zeros(32, np.int32))


def test_far():
    run(np.zeros(64, np.int32))
"""


def pytest_in(folder: Path, *options: str, typed: str = "") -> tuple[int, str]:
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *PLUGIN, *options]
    environment = {**os.environ, "COLUMNS": "150"}
    done = subprocess.run(command, cwd=folder, input=typed, capture_output=True, text=True, env=environment)
    return done.returncode, done.stdout + done.stderr


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("suite")
    (folder / "kernels.py").write_text(KERNELS, encoding="utf-8")
    (folder / "test_kernels.py").write_text(TESTS, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def checked(suite: Path) -> tuple[int, str]:
    return pytest_in(suite, "-rA", "--triptych-check=races,init")


@pytest.mark.parametrize(
    "line",
    [
        "PASSED test_kernels.py::test_parameters[True]",
        "FAILED test_kernels.py::test_parameters[False]",
        "PASSED test_kernels.py::test_expected",
        "FAILED test_kernels.py::test_expected_in_vain - Failed: the checkers were expected to find TT0630, and did",
        "PASSED test_kernels.py::test_of_its_own",
        "ERROR test_kernels.py::test_fixture",
        "PASSED test_kernels.py::test_allowed[1]",
        "FAILED test_kernels.py::test_that_fails_by_itself - assert 1 == 2",
        f"kernels.py:{LINE}:12 in neighbours",
        "2 x TT0630 at kernels.py:",
        ": any of them may win",
    ],
)
def test_a_suite_under_the_checkers(checked: tuple[int, str], line: str) -> None:
    code, printed = checked
    assert line in printed, printed
    assert code == 1


def test_two_processes_tell_the_same_allowances(suite: Path) -> None:
    pytest.importorskip("xdist")
    code, printed = pytest_in(suite, "-n", "2", "-k", "allowed", "--triptych-check=races")
    assert (code, "2 x TT0630 at kernels.py:" in printed) == (0, True), printed


def test_a_wrong_word_is_reported_before_any_test(suite: Path) -> None:
    code, printed = pytest_in(suite, "--triptych-check=rases")
    assert code == pytest.ExitCode.USAGE_ERROR
    assert "did you mean 'races'?" in printed


def test_a_suite_of_the_public_language(tmp_path: Path) -> None:
    (tmp_path / "test_public.py").write_text(PUBLIC, encoding="utf-8")
    code, printed = pytest_in(tmp_path, "--triptych-cpu", "--triptych-check")
    assert code == 1
    assert "[TT0630] a race in shift" in printed, printed
    assert f"test_public.py:{PUBLIC.splitlines().index('    shared[t] = t') + 1}:5 in shift" in printed


SIZES = """
import pytest


@pytest.mark.parametrize("flag", [True])
@pytest.mark.parametrize("size", [8, 64, 65, (1, [8, 128]), (8, "900"), None])
def test_size(size, flag):
    pass


def test_plain():
    pass
"""


def test_tests_of_large_sizes_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "test_sizes.py").write_text(SIZES, encoding="utf-8")
    code, printed = pytest_in(tmp_path, "-q", "--triptych-largest", "64")
    assert "5 passed, 2 deselected" in printed, printed
    assert code == 0


def test_threads_stop_and_fail_in_the_debugger_of_pytest(tmp_path: Path) -> None:
    (tmp_path / "test_far.py").write_text(FAILING, encoding="utf-8")
    commands = "p t\nn\nc\np t, place\np lanes(place)\nq\n"
    code, printed = pytest_in(tmp_path, "--pdb", "--triptych-check=bounds", typed=commands)
    assert code == pytest.ExitCode.INTERRUPTED
    assert "-> breakpoint()\n(Pdb) 5\n" in printed, printed
    assert "-> x[t] = t\n(Pdb) " in printed
    assert "-> x[place] = t\n(Pdb) (22, 66)\n(Pdb) threads 0 to 31: 0 3 6 " in printed, printed
