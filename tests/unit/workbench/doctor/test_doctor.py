"""`triptych doctor`: what it says of this machine, and of one whose GPU is the PTX simulator."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest

from tests.support.ptx.installed import installed
from tests.unit.targets.nvptx.tools import needs_assembler
from triptych.ptxsim.driver import NAME, NumpyDriver
from triptych.targets.nvptx.runtime import driver
from triptych.workbench.commands.cli import main
from triptych.workbench.doctor import report, worker
from triptych.workbench.doctor.worker import SUITE, Entry, example
from triptych.workbench.installed_files import examples_folder
from triptych.workbench.processes import Answer
from triptych.workbench.progress import Progress, progress

FEW = {name: SUITE[name] for name in ("relu", "block reduction", "TMA and WGMMA gemm", "tensor-core gemm, fp8")}


def here(verb: str, request: dict[str, Any], *_: object, **__: object) -> Answer:
    """The child's work, in this process: its driver is not one that a child would find."""
    assert verb == "doctor"
    try:
        return Answer(worker.worker_main(request, lambda text: None))
    except Exception as error:
        return Answer(None, error=str(error))


@pytest.fixture
def told() -> Iterator[Progress]:
    with progress("doctor") as found:
        yield found


@pytest.fixture(scope="module")
def numpy_driver() -> Iterator[None]:
    """One for all tests: compiled functions stay loaded in the driver of their first call."""
    with (
        installed(NumpyDriver(is_strict=True)) as found,
        mock.patch.object(driver, "find_driver", return_value=found),
    ):
        yield


def test_every_kernel_example_is_in_the_suite() -> None:
    files = {file.stem for file in (examples_folder() / "kernels").glob("*.py")}
    assert {entry.module for entry in SUITE.values()} == files - {"hello_world"}  # which only prints


@pytest.mark.parametrize("name", SUITE)
def test_every_entry_makes_a_call(name: str) -> None:
    function, arguments = SUITE[name].call(example(SUITE[name].module))
    assert callable(function)
    assert arguments


def test_without_a_driver_nothing_has_run_on_a_gpu(told: Progress) -> None:
    asked: list[dict[str, Any]] = []

    def answer(verb: str, request: dict[str, Any], *_: object, **__: object) -> Answer:
        asked.append(request)
        made = {"made": ["PTX"]} if request.get("compile_only") else {"difference": 0.0, "agrees": True, "seconds": 1.0}
        return Answer(made)

    with mock.patch.object(report, "ask", answer), mock.patch.object(driver, "find_driver", return_value=None):
        found = report.examine(told)
    assert [(run.target, run.state, bool(run.hardware)) for run in found.runs] == [
        ("cpu", report.WORKS, True),
        ("nvptx:sm_90", report.COMPILES, False),
    ]
    assert found.statement() == "No kernel has run on a GPU: no NVIDIA driver is installed here."
    assert found.statement() in found.text()
    assert found.is_well
    assert len(asked) == 2


@needs_assembler
def test_kernels_run_on_the_gpu_that_is_there(numpy_driver: None, told: Progress) -> None:
    with (
        mock.patch.object(report, "ask", here),
        mock.patch.object(report, "SUITE", FEW),
        mock.patch.object(report, "FIRST", "relu"),
    ):
        found = report.examine(told)
    assert [gpu.name for gpu in found.gpus] == [NAME.decode()]
    states = {run.kernel: (run.state, run.hardware) for run in found.runs if run.target == "nvptx:sm_80"}
    assert states == {
        "relu": (report.WORKS, NAME.decode()),
        "block reduction": (report.WORKS, NAME.decode()),
        "TMA and WGMMA gemm": (report.SKIPPED, ""),
        "tensor-core gemm, fp8": (report.SKIPPED, ""),
    }
    assert found.statement() == "2 of 2 kernels ran on PTX simulator and agree with the CPU target."


@needs_assembler
def test_a_kernel_that_differs_from_the_cpu_fails(numpy_driver: None, told: Progress) -> None:
    """Its first call gets other numbers than its second: what a target that computes wrongly looks like."""
    draws = iter(range(100))

    def unlike(m: Any) -> tuple[Any, tuple[Any, ...]]:
        x = np.full(256, float(next(draws)), np.float32)
        return m.relu, (x, np.zeros_like(x))

    with (
        mock.patch.object(report, "ask", here),
        mock.patch.dict("triptych.workbench.doctor.worker.SUITE", {"relu": Entry("relu", unlike)}),
        mock.patch.object(report, "SUITE", FEW),
    ):
        run = next(iter(report._on_gpu(report.Gpu("a GPU", "sm_80", ""), told)))
    assert run.state == report.FAILS
    assert "differs by" in run.detail


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (Answer(None, "relu on nvptx:sm_80", "the process ended (SIGSEGV)"), "ended (SIGSEGV) during relu on nvptx"),
        (
            Answer(None, error="[TT0512] cuLaunchKernelEx failed\n  = found: 700"),
            "cuLaunchKernelEx failed = found: 700",
        ),
    ],
)
def test_a_child_that_dies_or_an_error_is_reported_and_the_rest_goes_on(
    answer: Answer, said: str, told: Progress
) -> None:
    with mock.patch.object(report, "ask", return_value=answer), mock.patch.object(report, "SUITE", FEW):
        runs = list(report._on_gpu(report.Gpu("a GPU", "sm_80", ""), told))
    assert [run.state for run in runs] == [report.FAILS, report.FAILS, report.SKIPPED, report.SKIPPED]
    assert said in runs[0].detail


def test_a_gpu_that_no_target_knows_is_reported(told: Progress) -> None:
    [run] = report._on_gpu(report.Gpu("an old one", "sm_70", ""), told)
    assert (run.state, run.detail) == (report.FAILS, "there is no target for sm_70")


@pytest.mark.parametrize(("agrees", "code"), [(True, 0), (False, 1)])
def test_the_command_writes_a_file_to_send(
    agrees: bool, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = Answer({"difference": 0.5, "agrees": agrees, "seconds": 1.0, "made": ["PTX"]})
    with (
        mock.patch.object(report, "ask", return_value=answer),
        mock.patch.object(driver, "find_driver", return_value=None),
    ):
        assert main(["doctor", "--report", str(tmp_path / "r.json")]) == code
    kept = json.loads((tmp_path / "r.json").read_text())
    assert kept["statement"].startswith("No kernel has run on a GPU")
    assert [run["target"] for run in kept["runs"]] == ["cpu", "nvptx:sm_90"]
    assert "has run on" in capsys.readouterr().out
