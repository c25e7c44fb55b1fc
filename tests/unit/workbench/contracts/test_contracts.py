"""Files of users and of two public formats become contracts, or say what they lack."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from triptych.workbench.contracts.contract import Contract, Tolerance, bench_cases
from triptych.workbench.contracts.gpu_mode import read_task
from triptych.workbench.contracts.loading import load_contract
from triptych.workbench.errors import ContractError
from triptych.workbench.verification.verifying import VerifyOptions, verify

WHOLE = """
import numpy as np
TOLERANCE = {"rtol": 1e-5, "atol": 1e-6}
CASES = {"small": {"n": 10}, "large": {"n": 1000, "bench": True}}
MUTATES = ("y",)
def kernel_fn(x, y):
    y[...] = x + x
def reference_fn(x, y):
    y[...] = 2 * x
def get_inputs(n=64, seed=0):
    x = np.random.default_rng(seed).standard_normal(n, np.float32)
    return [x, np.zeros_like(x)]
"""
TASK = """
# a problem
files:
  - {"name": "submission.py", "source": "@SUBMISSION@"}
  - {"name": "task.py", "source": "task.py"}
lang: "py"
description: |
  Add: two vectors.
tests:
  - {"size": 127, "seed": 4242}
  - size: 128
    seed: 5236
benchmarks:
  - {"size": 1024, "seed": 54352}
ranking_by: "geom"
"""
REFERENCE = """
import numpy as np
from task import input_t
def ref_kernel(data):
    a, b = data
    return a + b
def generate_input(size: int, seed: int):
    random = np.random.default_rng(seed)
    return random.standard_normal(size, np.float32), random.standard_normal(size, np.float32)
def check_implementation(data, output):
    good = bool(np.allclose(output, ref_kernel(data)))
    return good, "" if good else "mismatch"
"""
MODELS = """
import torch
from torch import nn
class Model(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.layer = nn.Linear(n, 8)
    def forward(self, x):
        return torch.relu(self.layer(x))
class ModelNew(Model):
    def forward(self, x):
        return torch.clamp(x @ self.layer.weight.T + self.layer.bias, min=0)
def get_inputs():
    return [torch.randn(16, 32)]
def get_init_inputs():
    return [32]
"""


def loaded(folder: Path, text: str) -> Contract:
    file = folder / "kernel.py"
    file.write_text(text, encoding="utf-8")
    return load_contract(file, f"contract_of_{folder.name}")


@pytest.fixture(autouse=True)
def _clean_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend("")


def test_everything_that_a_file_can_say(tmp_path: Path) -> None:
    contract = loaded(tmp_path, WHOLE)
    assert contract.tolerance == Tolerance(1e-5, 1e-6)
    assert contract.mutates == {1}
    assert list(contract.cases) == ["small", "large"]
    assert list(bench_cases(contract)) == ["large"]
    assert contract.sizes() == {"n": 64}
    assert [len(array) for array in contract.inputs(3, contract.cases["small"])] == [10, 10]
    assert verify(contract, VerifyOptions(seeds=1)).verdict == "pass"


def test_inputs_without_a_seed_are_seeded(tmp_path: Path) -> None:
    text = WHOLE.replace("seed=0", "").replace(
        "np.random.default_rng(seed).standard_normal(n, np.float32)", "np.random.rand(n)"
    )
    contract = loaded(tmp_path, text)
    assert np.array_equal(contract.inputs(1)[0], contract.inputs(1)[0])
    assert not np.array_equal(contract.inputs(1)[0], contract.inputs(2)[0])


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("def kernel_fn(x): return x", "has no reference_fn and no get_inputs"),
        (WHOLE.replace('{"rtol": 1e-5, "atol": 1e-6}', '"tight"'), "says neither rtol nor atol"),
        (WHOLE.replace('("y",)', '"z"'), "MUTATES names 'z'"),
    ],
)
def test_what_a_file_lacks(tmp_path: Path, text: str, title: str) -> None:
    with pytest.raises(ContractError, match=title):
        loaded(tmp_path, text)


def test_task_files_in_both_styles() -> None:
    task = read_task(TASK)
    assert task["tests"] == [{"size": 127, "seed": 4242}, {"size": 128, "seed": 5236}]
    assert task["benchmarks"] == [{"size": 1024, "seed": 54352}]
    assert task["files"][1] == {"name": "task.py", "source": "task.py"}


def test_a_problem_of_gpu_mode(tmp_path: Path) -> None:
    files = {"task.yml": TASK, "reference.py": REFERENCE, "task.py": "input_t = tuple"}
    for name, text in {**files, "submission.py": "def custom_kernel(data):\n    a, b = data\n    return a + b"}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    contract = load_contract(tmp_path)
    assert contract.format == "GPU MODE"
    assert list(contract.cases) == ["size=127", "size=128", "size=1024"]
    assert list(bench_cases(contract)) == ["size=1024"]
    found = verify(contract, VerifyOptions(seeds=1))
    assert found.verdict == "pass", found.findings


def test_a_solution_of_kernelbench(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    contract = loaded(tmp_path, MODELS)
    assert contract.format == "KernelBench"
    found = verify(contract, VerifyOptions(seeds=1))
    assert found.verdict == "pass", found.findings


@pytest.mark.parametrize("cases", ["3", "'small'", "[3]", "{'small': 10}"])
def test_cases_that_cannot_be_read_are_refused(tmp_path: Path, cases: str) -> None:
    text = WHOLE.replace('{"small": {"n": 10}, "large": {"n": 1000, "bench": True}}', cases)
    with pytest.raises(ContractError, match="cases of a kernel file"):
        loaded(tmp_path, text)
