"""What kernels do not need is not in their code, and what their launches promise is: signs, calls, directives."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from benchmarks.sass_programs.arguments import PORTS

import triptych as tt
from tests.unit.targets.nvptx.programs import matrix, vector
from tests.unit.targets.nvptx.tools import needs_assembler, needs_disassembler
from triptych import cute
from triptych.support.config import override
from triptych.targets.nvptx.instruction_counts import instruction_counts

pytestmark = needs_assembler


@tt.kernel
def copy_rows(a: cute.Tensor, b: cute.Tensor) -> None:
    """The layout divides the number of the thread by the rows, which are never negative."""
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    b[block] = a[block] + thread


@tt.kernel
def three_divisions(a: cute.Tensor, n: tt.Int32, m: tt.Int32) -> None:
    a[0] = 100 // n
    a[1] = 100 // m
    a[2] = 100 % (n + m)


@tt.jit
def rows(a: cute.Tensor, b: cute.Tensor) -> None:
    copy_rows(a, b).launch(grid=70, block=32)


@tt.jit
def divisions(a: cute.Tensor, n: tt.Int32, m: tt.Int32) -> None:
    three_divisions(a, n, m).launch(grid=1, block=32)


@tt.kernel
def nothing() -> None:
    pass


@tt.jit
def in_clusters() -> None:
    nothing().launch(grid=8, block=32, cluster=(4, 2, 1))


def ptx_of(function: Any, *arguments: Any, architecture: str = "sm_80", options: str = "") -> str:
    text: str = tt.compile(function, *arguments, target=f"nvptx:{architecture}", options=options).__ptx__
    return text


def test_layouts_divide_without_signs_or_checks() -> None:
    ptx = ptx_of(rows, matrix(), matrix())
    assert re.findall(r"\b(?:div|rem)\.(\w+)", ptx)
    assert set(re.findall(r"\b(?:div|rem)\.(\w+)", ptx)) == {"u32"}
    assert "__assertfail" not in ptx


def test_failing_checks_share_one_call() -> None:
    ptx = ptx_of(divisions, vector(tt.Int32), 1, 2)
    assert ptx.count("call.uni __assertfail") == 1
    assert len(re.findall(r"^\.global .* assert_message_\d+\[", ptx, re.MULTILINE)) == 3


def test_a_cluster_is_a_directive() -> None:
    assert ".reqnctapercluster 4, 2, 1" in ptx_of(in_clusters, architecture="sm_90a")


def test_kept_files(tmp_path: Path) -> None:
    with override(keep=str(tmp_path)):
        compiled = tt.compile(in_clusters, target="nvptx:sm_90", options="--keep-ptx --keep-cubin")
    assert (tmp_path / "in_clusters.sm_90.ptx").read_text() == compiled.__ptx__
    assert (tmp_path / "in_clusters.sm_90.cubin").read_bytes() == compiled.__cubin__


AT_MOST = {"port: vector add": 95, "port: relu": 84, "port: add by layout": 332, "port: rms norm": 320}
"""Instructions for sm_80 by any assembler of CUDA 13; what benchmarks/sass.py measures, with a little room."""


@needs_disassembler
@pytest.mark.parametrize("name", PORTS)
def test_ports_stay_small(name: str) -> None:
    function, arguments = PORTS[name]()
    compiled = tt.compile(function, *arguments, target="nvptx:sm_80")
    assert not any(used.spill_stores for used in compiled.resources.values())
    assert sum(counts.total() for counts in instruction_counts(compiled.__sass__).values()) <= AT_MOST[name]
