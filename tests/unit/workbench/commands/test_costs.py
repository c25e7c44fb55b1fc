"""`triptych check --costs`: which blocks run, what is said of lines, where tensors are placed, mistakes of users."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import triptych as tt
from triptych import cute
from triptych.ptxsim.machine import Gpu
from triptych.support.config import override
from triptych.targets.nvptx.toolchain import assembling
from triptych.workbench.commands.cli import main
from triptych.workbench.costs.report import by_line, grid_total
from triptych.workbench.costs.simulation import counted, on_machine
from triptych.workbench.costs.table import occupancy_table

PROGRAM = """
import numpy as np
import triptych as tt
from triptych import cute


@tt.kernel
def count_up(x: cute.Tensor, total: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    i = block * 64 + thread
    if i < cute.size(x):
        cute.arch.atomic_add(total.iterator, x[i])


@tt.jit
def sums(x: cute.Tensor, total: cute.Tensor):
    count_up(x, total).launch(grid=cute.ceil_div(cute.size(x), 64), block=64)


if __name__ == "__main__":
    total = np.zeros(1, np.int32)
    sums(np.ones(1000, np.int32), total)
    assert total[0] == 1000, "not all blocks ran"
"""


@tt.kernel
def strided(x: cute.Tensor, y: cute.Tensor, step: tt.Constexpr[int]) -> None:
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    y[block * 32 + thread] = x[thread * step]


@tt.jit
def copy_strided(x: cute.Tensor, y: cute.Tensor, step: tt.Constexpr[int]) -> None:
    strided(x, y, step).launch(grid=cute.size(y) // 32, block=32)


@pytest.fixture
def program(tmp_path: Path) -> str:
    file = tmp_path / "sums.py"
    file.write_text(PROGRAM, encoding="utf-8")
    return str(file)


def facts_of(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    assert main(["check", "--costs", "--json", *words]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_a_script_of_which_some_blocks_run(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    facts = facts_of(capsys, program, "--blocks", "3")
    (launch,) = facts["launches"]
    assert launch["blocks_that_ran"] == [[0, 0, 0], [8, 0, 0], [15, 0, 0]]
    assert facts["ended_by"] == "AssertionError: not all blocks ran (line 24 of sums.py)"
    (line,) = [each for each in launch["lines"] if "atomic_add" in each["source"]]
    first, _, last = line["of_a_block"]
    assert (first["atomics"], first["atomic_requests"], first["atomic_turns"]) == (64, 2, 64)
    assert last["atomics"] == 1000 - 15 * 64
    assert not line["is_alike"]
    assert launch["of_the_grid"]["atomics"] is None
    assert launch["of_the_grid"]["wavefronts"] == 0
    assert "32.0 atomics of each request are on one address" in launch["remarks"][0]


def test_all_blocks_of_a_function(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    facts = facts_of(capsys, f"{program}:sums", "--args", "Int32[1000], Int32[1]", "--blocks", "all")
    (launch,) = facts["launches"]
    assert launch["of_the_grid"]["atomics"] == 1000
    assert not facts["ended_by"]
    assert {each["architecture"] for each in launch["occupancy"]} >= {"sm_80", "sm_90a"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nothing.py"], "there is no file nothing.py"),
        (["{}", "--arch", "sm_81"], "did you mean 'sm_89'?"),
        (["{}", "--blocks", "some"], "a number, or 'all'"),
        (["{}", "--case", "large"], "only kernel files have cases"),
        (["{}:sum"], "did you mean 'sums'?"),
    ],
)
def test_mistakes(words: list[str], said: str, program: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--costs", *(word.format(program) for word in words)]) == 2
    assert said in capsys.readouterr().err


def test_a_file_without_kernels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "empty.py"
    file.write_text("print('nothing')", encoding="utf-8")
    assert main(["check", "--costs", str(file)]) == 2
    assert "launched no kernel" in capsys.readouterr().err


@pytest.mark.parametrize(("first", "step", "sectors"), [(0, 1, 4), (1, 1, 5), (8, 1, 4), (0, 2, 8)])
def test_tensors_are_placed_as_a_gpu_does(first: int, step: int, sectors: int) -> None:
    """A part of an array keeps its distance from the array's begin, wherever NumPy has put that."""
    x, y = np.arange(100, dtype=np.float32)[first : first + 64], np.zeros(96, np.float32)
    with counted("sm_80", lambda number: [0, number - 1]) as run:
        copy_strided(x, y, step)
    (launch,) = run.counting.launches
    costs = by_line(launch)
    (line,) = [each for each in costs if each.first.global_requests]
    assert (line.first.global_requests, line.first.sectors) == (2, sectors + 4)
    assert line.is_alike
    assert grid_total(launch, costs, "sectors") == 3 * (sectors + 4)
    assert np.array_equal(y[:32], x[: 32 * step : step])
    assert not y[32:64].any()  # the block between did not run


def test_memory_that_tensors_share_is_shared_there() -> None:
    gpu, whole = Gpu(), np.arange(64, dtype=np.int32)
    frozen = np.ones(4, np.int32)
    frozen.flags.writeable = False
    with on_machine(gpu, [whole, whole[16:], frozen]) as (all_of_it, part, other):
        assert part.address - all_of_it.address == 64
        assert all_of_it.address % 256 == other.address % 256 == 0
        gpu.memory.room_at(part.address).words(4)[0, 16] = 7
        gpu.memory.room_at(other.address).words(4)[0, 0] = 7
    assert whole[16] == 7
    assert frozen[0] == 1
    assert not gpu.memory.rooms


def test_without_an_assembler_registers_are_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assembling, "ASSEMBLERS", ())
    x = np.ones(64, np.float32)
    with override(cache=False), counted("sm_80") as run:
        copy_strided(x, np.zeros(32, np.float32), 2)
    text = occupancy_table(run.counting.launches[0], run.usage())
    assert "no assembler is installed" in text
    assert "registers fewer" not in text
