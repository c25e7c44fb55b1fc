"""Resources as data and as a table, and reasons for narrow accesses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import triptych as tt
from tests.unit.targets.nvptx.programs import vector
from tests.unit.targets.nvptx.tools import needs_assembler
from triptych import cute
from triptych.cute.runtime import FakeTensor, make_fake_tensor
from triptych.support.config import override
from triptych.targets.nvptx.report.occupancy import usage_table
from triptych.targets.nvptx.report.resources import Resources
from triptych.targets.nvptx.report.usage import Usage
from triptych.workbench.commands.cli import main
from triptych.workbench.profiling.worker import resources

pytestmark = needs_assembler
THREADS = 128


@tt.kernel
def copy_four(a: cute.Tensor, b: cute.Tensor) -> None:
    thread, _, _ = cute.arch.thread_idx()
    source, target = (cute.zipped_divide(tensor, (4,))[None, thread] for tensor in (a, b))
    cute.autovec_copy(source, target)


@tt.kernel
def copy_some(a: cute.Tensor, b: cute.Tensor) -> None:
    thread, _, _ = cute.arch.thread_idx()
    for k in tt.range_constexpr(4):
        if thread + k < cute.size(a):
            b[thread + k] = a[thread + k]


@tt.jit
def launched(kernel: tt.Constexpr[Any], a: cute.Tensor, b: cute.Tensor) -> None:
    kernel(a, b).launch(grid=1, block=THREADS, smem=1024)


def used(kernel: Any, make: Any = vector) -> Usage:
    with override(performance_warnings=False):
        compiled = tt.compile(launched, kernel, make(), make(), target="nvptx:sm_80")
    found: dict[str, Usage] = compiled.usage
    (usage,) = found.values()
    return usage


def strided() -> FakeTensor:
    return make_fake_tensor(tt.Float32, (cute.sym_int(divisibility=4),), (cute.sym_int64(),), assumed_align=16)


@tt.kernel
def reverse(a: cute.Tensor, b: cute.Tensor) -> None:
    thread, _, _ = cute.arch.thread_idx()
    shared = cute.SmemAllocator().allocate_tensor(tt.Float32, cute.make_layout(2048))
    shared[thread] = a[thread]
    cute.arch.sync_threads()
    b[thread] = shared[THREADS - 1 - thread]


@tt.jit
def reversed_by(a: cute.Tensor, b: cute.Tensor, smem: tt.Constexpr[Any]) -> None:
    if smem is None:
        reverse(a, b).launch(grid=1, block=THREADS)
    else:
        reverse(a, b).launch(grid=1, block=THREADS, smem=smem)


@pytest.mark.parametrize("smem", [None, 8192])
def test_shared_memory_is_counted_wherever_it_is_asked_for(smem: int | None) -> None:
    """Tables, profiles and devlogs have the same number."""
    with override(performance_warnings=False):
        compiled = tt.compile(reversed_by, vector(), vector(), smem, target="nvptx:sm_80")
    assert compiled.usage["reverse"].shared == 8192
    assert resources({"usage": lambda: compiled.usage})["reverse"]["shared"] == 8192
    assert " 8192 " in usage_table(compiled.usage)


def test_a_kernel_with_its_launch() -> None:
    usage = used(copy_four)
    assert (usage.threads, usage.launch_shared, usage.narrow) == (THREADS, 1024, ())
    assert usage.occupancy["sm_80"] == 16
    assert usage.occupancy["sm_86"] == 12


@pytest.mark.parametrize(
    ("kernel", "make", "why"),
    [
        (copy_some, vector, "a condition of its own"),
        (copy_four, lambda: vector(align=4), "only known to be a multiple of 4 bytes"),
        (copy_four, strided, "known only at run time"),
    ],
    ids=["condition", "alignment", "stride"],
)
def test_narrow_accesses_have_a_line_and_a_reason(kernel: Any, make: Any, why: str) -> None:
    narrow = used(kernel, make).narrow
    assert {each.what for each in narrow} == {"loads", "stores"}
    for each in narrow:
        assert why in each.why
        assert each.number == 4
        assert each.span is not None
        assert each.span.file == __file__


def test_what_only_the_launch_knows() -> None:
    row = usage_table({"k": Usage(Resources("k", "sm_80", 32), None, None, {}, ())}).splitlines()[1]
    assert row.split() == ["k", "sm_80", "32", "launch", "0", "0", "0", "launch", "launch"]


PROGRAM = """
import triptych as tt
from triptych import cute

@tt.kernel
def double(a: cute.Tensor):
    t, _, _ = cute.arch.thread_idx()
    a[t] = a[t] * 2.0

@tt.jit
def doubled(a: cute.Tensor):
    double(a).launch(grid=1, block=64)
"""


def test_show_for_a_gpu(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    call = ["show", f"{path}:doubled", "--target", "nvptx:sm_80", "--args", "Float32[n]"]
    assert main([*call, "--stage", "resources"]) == 0
    shown = capsys.readouterr().out
    assert "double  sm_80" in shown
    assert main([*call, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["resources"]["double"]["threads"] == 64
    assert ".entry double" in facts["stages"]["asm"]
