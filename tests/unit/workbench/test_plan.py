"""Devices, tilings and plans: limits as sentences, a plan as a contract and as a command line."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from triptych.cute.tuning.trying import TuningWarning
from triptych.support.device_model import PRODUCTS
from triptych.targets.nvptx.description.architectures import ARCHITECTURES
from triptych.workbench import CuteKernel, KernelPlan, Tiling, device, device_names
from triptych.workbench.errors import PlanError, UnknownDeviceError
from triptych.workbench.tiling import (
    cluster_problems,
    multiple_problems,
    register_problems,
    shared_problems,
    stage_bytes,
    thread_problems,
)
from triptych.workbench.verification.verifying import VerifyOptions, verify


@pytest.mark.parametrize("name", device_names())
def test_every_device_has_its_limits_and_their_source(name: str) -> None:
    found = device(name)
    assert found.source
    if found.architecture in ARCHITECTURES:
        assert found.shared == ARCHITECTURES[found.architecture].shared
        assert found.shared_of_a_block == found.shared - 1024


@pytest.mark.parametrize(
    ("name", "shared", "of_a_block", "threads", "blocks"),
    [
        ("sm_80", 164, 163, 2048, 32),
        ("sm_86", 100, 99, 1536, 16),
        ("sm_87", 164, 163, 1536, 16),
        ("sm_89", 100, 99, 1536, 24),
        ("sm_90", 228, 227, 2048, 32),
        ("sm_110a", 228, 227, 1536, 24),
        ("sm_120a", 100, 99, 1536, 24),
        ("sm_121a", 100, 99, 1536, 24),
    ],
)
def test_limits_are_those_of_the_public_tables(
    name: str, shared: int, of_a_block: int, threads: int, blocks: int
) -> None:
    found = device(name)
    assert (found.shared >> 10, found.shared_of_a_block >> 10) == (shared, of_a_block)
    assert (found.threads, found.blocks, found.registers) == (threads, blocks, 65536)


@pytest.mark.parametrize("name", PRODUCTS)
def test_a_product_has_the_limits_of_its_architecture_and_its_own_numbers(name: str) -> None:
    found, of_architecture = device(name), device(PRODUCTS[name].architecture)
    assert (found.shared, found.threads, found.registers) == (
        of_architecture.shared,
        of_architecture.threads,
        of_architecture.registers,
    )
    assert min(found.multiprocessors, found.l2_bytes, found.memory, found.bandwidth) > 0
    assert PRODUCTS[name].source in found.source


@pytest.mark.parametrize("name", ["rtx4090", "RTX 4090", "rtx-4090", "NVIDIA GeForce RTX 4090"])
def test_products_are_found_as_people_write_them(name: str) -> None:
    assert (device(name).multiprocessors, device(name).bandwidth) == (128, 1008 * 10**9)


def test_an_unknown_device_is_no_guess() -> None:
    with pytest.raises(UnknownDeviceError, match="there is no device 'sm_88'"):
        device("nvptx:sm_88")


def test_what_does_not_fit_by_how_much_and_what_would() -> None:
    small, large = device("sm_120a"), device("nvptx:sm_90a")
    tiles = ((128, 64, 16), (128, 64, 16))
    assert stage_bytes(4, *tiles) == 131072
    assert list(shared_problems(large, 4, *tiles)) == []
    (text,) = shared_problems(small, 4, *tiles)
    assert text == "131072 bytes of shared memory are 29696 more than a block of sm_120a has; at most 3 stages fit"
    assert list(thread_problems(small, 100)) == ["100 threads are no whole warps; 96 or 128 are"]
    assert len(list(register_problems(small, 512, 256))) == 2
    assert list(cluster_problems(large, (2, 1), (8, 3))) == []
    assert list(cluster_problems(device("sm_80"), (2, 1), (7, 1))) == [
        "sm_80 has no clusters; a shape of (1, 1) runs",
        "7 rows of blocks are no multiple of 2; 8 are",
    ]
    assert list(multiple_problems(m=(100, 64))) == ["m = 100 is no multiple of 64; 128 is"]


@dataclass(frozen=True)
class Rows(Tiling):
    rows: int = 4

    def validate(self, pd: Any) -> bool:
        return bool(pd % self.rows == 0)


@dataclass
class Scaled(KernelPlan):
    """Twice a vector, in pieces."""

    n: int = 64
    tiling: Rows = field(default_factory=Rows)

    def prepare_inputs(self, seed: int = 0) -> list[Any]:
        return [np.random.default_rng(seed).standard_normal(self.n, np.float32)]

    def reference(self, x: np.ndarray) -> Any:
        return 2 * x

    def _autotune_configs(self) -> list[Rows]:
        return [Rows(1), Rows(7), Rows(64)]

    def plan(self, *inputs: Any) -> CuteKernel:
        (x,) = inputs
        out = np.empty_like(x)

        def launch(tiling: Rows) -> None:
            if not tiling.validate(self.n):
                raise ValueError(f"{self.n} is no multiple of {tiling.rows}")
            for i in range(0, self.n, tiling.rows):
                np.add(x[i : i + tiling.rows], x[i : i + tiling.rows], out=out[i : i + tiling.rows])

        return CuteKernel(launch, launch, [x], [out], self.tiling, self._autotune_configs())


def test_a_plan_is_a_contract() -> None:
    assert verify(Scaled().contract(Path("scaled.py")), VerifyOptions(seeds=1)).verdict == "pass"


def test_a_plan_has_a_command_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["scaled.py"])
    run = Scaled().benchmark_kernel_argparse
    assert run(["--n=128", "--tiling.rows=32", "--check", "--seconds=0.05"]) == 0
    verdict, line = capsys.readouterr().out.splitlines()
    assert verdict == "PASS"
    assert line.startswith("Scaled: ")
    assert run(["--prof_type=ncu"]) == 0
    assert "ncu --set full" in capsys.readouterr().out


def test_what_a_machine_does_not_have_is_skipped(capsys: pytest.CaptureFixture[str]) -> None:
    class Newer(Scaled):
        REQUIRES = "sm_100a"

    assert Newer().benchmark_kernel_argparse([]) == 0
    assert capsys.readouterr().out.startswith("SKIPPED: Newer needs sm_100a")


def test_autotuning_hides_no_failure() -> None:
    kernel = Scaled().plan(*Scaled().prepare_inputs())
    with pytest.warns(TuningWarning, match="1 of 3 configurations failed: ValueError: 64 is no multiple of 7"):
        assert kernel.autotune(0.01) == Rows(64)
    assert kernel.tuned["Rows(rows=7)"] == "failed: ValueError: 64 is no multiple of 7"
    kernel.autotune_configs = [Rows(7)]
    with pytest.raises(ValueError, match="64 is no multiple of 7") as failed:
        kernel.autotune(0.01)
    assert "1 of 1 configurations failed" in failed.value.__notes__[0]
    assert kernel.tiling == Rows(64)


def test_a_plan_says_what_it_lacks() -> None:
    with pytest.raises(PlanError, match="has no reference"):
        KernelPlan().reference()
    assert Rows(7).problems(64, device("cpu")) == ["Rows(rows=7) does not suit the problem 64"]
