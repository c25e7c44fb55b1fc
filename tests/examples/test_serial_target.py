"""The target outside the package: found by its entry point, right where it runs, and refused where it cannot."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import triptych as tt
from triptych import cute
from triptych.ir.errors import LoweringError
from triptych.objectstage.target import TARGETS

SOURCE = Path(__file__).resolve().parents[2] / "examples" / "serial_target.py"
SPEC = importlib.util.spec_from_file_location("serial_target", SOURCE)
assert SPEC is not None
assert SPEC.loader is not None
EXAMPLE = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(EXAMPLE)


@pytest.fixture(autouse=True)
def serial(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TARGETS, "_loaded", {**TARGETS._loaded, "serial": EXAMPLE.TARGET})


@cute.kernel
def grid_kernel(x: cute.Tensor, a: cute.Float32, n: cute.Int32) -> None:
    bx, by, bz = cute.arch.block_idx()
    tx, ty, tz = cute.arch.thread_idx()
    dx, dy, dz = cute.arch.block_dim()
    gx, gy, _ = cute.arch.grid_dim()
    block = (bz * gy + by) * gx + bx
    i = ((block * dz + tz) * dy + ty) * dx + tx
    total = a
    for k in range(i % 5):
        if k == 3:
            break
        total = total * x[i] + k
    x[i] = cute.math.exp(-total) + i // n


@cute.jit
def grid_of(x: cute.Tensor, a: cute.Float32, n: cute.Int32) -> None:
    grid_kernel(x, a, n).launch(grid=[2, 3, 2], block=[4, 2, 3])
    grid_kernel(x, a, n + 1).launch(grid=[2, 3, 2], block=[4, 2, 3])


def random_numbers() -> Any:
    return np.random.default_rng(0).random(2 * 3 * 2 * 4 * 2 * 3).astype(np.float32)


def test_it_agrees_with_the_cpu_target() -> None:
    on_cpu, on_serial = random_numbers(), random_numbers()
    tt.compile(grid_of, on_cpu, 0.5, 3, target="cpu")(on_cpu, 0.5, 3)
    tt.compile(grid_of, on_serial, 0.5, 3, target="serial")(on_serial, 0.5, 3)
    assert not np.array_equal(on_serial, random_numbers())
    np.testing.assert_allclose(on_serial, on_cpu, rtol=1e-6)


def test_a_failed_check_is_the_error_of_its_line() -> None:
    x = random_numbers()
    with pytest.raises(ZeroDivisionError) as failure:
        tt.compile(grid_of, x, 0.5, 3, target="serial")(x, 0.5, 0)
    assert failure.value.span.line == grid_kernel.function.__code__.co_firstlineno + 13  # type: ignore[attr-defined]
    np.testing.assert_array_equal(x[1:], random_numbers()[1:], "no thread runs after the one that failed")


@cute.kernel
def waits(x: cute.Tensor) -> None:
    cute.arch.sync_threads()
    x[0] = 1.0


@cute.jit
def launches_waits(x: cute.Tensor) -> None:
    waits(x).launch(grid=[1, 1, 1], block=[32, 1, 1])


def test_a_barrier_is_refused_at_its_line() -> None:
    with pytest.raises(LoweringError, match=r"has no gpu\.barrier") as failure:
        tt.compile(launches_waits, random_numbers(), target="serial")
    assert failure.value.span is not None
    assert failure.value.span.line == waits.function.__code__.co_firstlineno + 2


def test_a_function_that_launches_nothing_runs() -> None:
    @tt.jit
    def add(a: tt.Int32, b: tt.Int32) -> Any:
        return a + b

    assert tt.compile(add, 1, 2, target="serial")(20, 22) == 42


PROGRAM = """
import numpy as np, triptych as tt
from triptych import cute

@cute.kernel
def twice(x: cute.Tensor):
    x[cute.arch.thread_idx()[0]] *= 2

@cute.jit
def run(x: cute.Tensor):
    twice(x).launch(grid=[1, 1, 1], block=[4, 1, 1])

x = np.arange(4, dtype=np.int32)
tt.compile(run, x, target="serial")(x)
print(x.tolist())
"""


def test_a_package_announces_it(tmp_path: Path) -> None:
    (tmp_path / "serial_target.py").write_text(SOURCE.read_text(encoding="utf-8"), encoding="utf-8")
    metadata = tmp_path / "serial_target-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: serial-target\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[triptych.targets]\nserial = serial_target:TARGET\n")
    (tmp_path / "program.py").write_text(PROGRAM)
    paths = [str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    result = subprocess.run(
        [sys.executable, tmp_path / "program.py"], capture_output=True, text=True, check=False, env=environment
    )
    assert (result.returncode, result.stdout, result.stderr) == (0, "[0, 2, 4, 6]\n", "")


def test_it_is_small() -> None:
    assert SOURCE.read_text(encoding="utf-8").count("\n") <= 160
