"""`triptych docs` finds what users ask for; `triptych examples` gives them what guides refer to."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from triptych.workbench.commands.cli import main
from triptych.workbench.commands.documents import found

QUESTIONS = {
    "every process compiles again at start, how do I keep compiled kernels": {"compiled-once", "shared-store", "build"},
    "what does the cache key contain": {"cache-key"},
    "stale kernel from the cache after I changed a global": {"cache-key", "compiled-once"},
    "no compilation while serving requests, seal the process": {"build", "compiled-once", "shared-store"},
    "several ranks compile the same kernel at once": {"compiled-once", "shared-store", "build"},
    "share compiled kernels between machines with redis": {"shared-store"},
    "run CuTe DSL program in CI without a GPU": {"without-a-gpu", "from-cute-dsl"},
    "break and continue in a dynamic loop": {"control-flow"},
    "early return in a kernel": {"troubleshooting", "control-flow"},
    "launch overhead of a call in microseconds": {"tensor-arguments", "pytorch", "compiled-once", "benchmark"},
    "chained comparison means what it means in Python": {"control-flow", "guarantees"},
    "which operating systems are supported, windows or macOS": {"platforms"},
    "is this value static or known at run time": {"control-flow", "first-steps", "guarantees", "kernels"},
    "variable has different types in two branches of an if": {"control-flow", "errors"},
    "dynamic shapes without recompiling": {"tensor-arguments", "troubleshooting", "compiled-once"},
    "find a race in shared memory": {"finding-faults", "missing-barriers"},
    "kernel hangs at an mbarrier": {"hangs", "troubleshooting", "pipeline-faults"},
    "stop at a breakpoint inside a kernel with pdb": {"stopping-a-thread"},
    "bank conflicts": {"layouts", "what-would-be-slow"},
    "registers are spilled": {"what-would-be-slow", "gpu"},
    "compile time of a kernel is long": {"compiled-once", "first-steps", "build", "kernels-on-the-cpu"},
    "use a kernel in torch.compile": {"pytorch"},
    "torch autograd with a kernel": {"pytorch"},
    "autotune parameters and keep the result": {"tuning", "workbench"},
    "fp16 times 2 promotes to fp32": {"number-types", "troubleshooting"},
    "integer overflow wraps around": {"number-types", "guarantees"},
    "division of negative integers": {"number-types", "guarantees"},
    "export a kernel to C++ as an object file": {"ahead-of-time"},
    "pass a dataclass as an argument": {"first-steps", "tensor-arguments", "kernels", "control-flow", "guarantees"},
    "inline PTX instruction": {"inline-ptx"},
    "write my own language on MLIR": {"write-your-own-dsl"},
    "write a new target": {"own-target"},
    "compare with a reference, tolerance of fp8": {"verify"},
    "which of two kernels is faster": {"benchmark", "workbench"},
    "swizzle of a shared memory tile": {"layouts", "tensor-cores", "what-would-be-slow"},
    "ldmatrix and mma atoms": {"tensor-cores"},
    "TMA load with a pipeline": {"tma", "pipelined-gemm", "asynchronous-kernels"},
    "WGMMA accumulator in registers": {"wgmma"},
    "cluster launch and distributed shared memory": {"clusters"},
    "process crashed with a segfault in a kernel": {"kernel-errors", "troubleshooting"},
}
FEWEST_ANSWERED = 34


def test_questions_of_users_are_answered_among_the_first_three() -> None:
    unanswered = {
        question: [section.page for section in found(question)]
        for question, pages in QUESTIONS.items()
        if not pages & {Path(section.page).stem for section in found(question)}
    }
    assert len(QUESTIONS) == 40
    assert len(QUESTIONS) - len(unanswered) >= FEWEST_ANSWERED, unanswered


def test_an_error_code_is_found() -> None:
    assert found("TT0630")[0].page == "errors.md"
    assert found("TT0630")[0].title.startswith("TT0630")


def test_search_as_text_and_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["docs", "bank", "conflicts"]) == 0
    text = capsys.readouterr().out
    assert "see also:" in text
    assert main(["docs", "--json", "bank", "conflicts"]) == 0
    records = json.loads(capsys.readouterr().out)
    assert text.startswith(f"{records[0]['page']}: {records[0]['title']}")
    assert main(["docs", "xyzzy"]) == 0
    assert "nothing is said of 'xyzzy'" in capsys.readouterr().out
    assert main(["docs"]) == 0
    assert "guides/layouts.md" in capsys.readouterr().out


def test_examples_are_listed_and_copied(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["examples", "list"]) == 0
    assert "softmax" in capsys.readouterr().out
    assert main(["examples", "copy", "softmax", "--to", str(tmp_path / "new")]) == 0
    copied = tmp_path / "new/softmax.py"
    assert "def softmax_row" in copied.read_text(encoding="utf-8")
    copied.write_text("mine")
    assert main(["examples", "copy", "softmax", "--to", str(tmp_path / "new")]) == 0
    assert "is there already" in capsys.readouterr().out
    assert copied.read_text() == "mine"


def test_an_example_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["examples", "copy", "sofmax"]) == 2
    assert "did you mean 'softmax'?" in capsys.readouterr().err
