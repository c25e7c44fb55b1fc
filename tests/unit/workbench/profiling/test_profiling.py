"""`triptych profile`: bars that nest and sum to the time, blocks by thread, and instructions by line."""

from __future__ import annotations

import json
import os
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triptych.support.timeline import LISTENERS, Moment, during, past
from triptych.targets.cpu.runtime.pool_code import pool_code
from triptych.targets.cpu.runtime.pool_memory_code import with_records
from triptych.targets.nvptx.toolchain.locate import find_program
from triptych.workbench.commands.cli import main
from triptych.workbench.contracts.contract import Contract
from triptych.workbench.folders.versions import new_kernel
from triptych.workbench.processes import Answer, ask
from triptych.workbench.profiling import gpu_tools
from triptych.workbench.profiling.gpu_tools import command
from triptych.workbench.profiling.line_report import assembly_listing, mlir_listing, sass_listing
from triptych.workbench.profiling.sessions import Bar, Threads, bar_of, overlapping
from triptych.workbench.profiling.worker import NO_SASS

CALLS = 5


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return new_kernel(tmp_path_factory.mktemp("profiled"), "scaled", "elementwise", "")


def profiled(folder: Path, out: str, target: str = "") -> Answer:
    request = {"file": str(folder / "scaled.py"), "target": target, "case": "", "calls": CALLS}
    settings = {"TRIPTYCH_TARGET": target, "TRIPTYCH_LINE_INFO": "1"} if target else None
    return ask("profile", {**request, "folder": str(folder / out)}, 300.0, environment=settings)


@pytest.fixture(scope="module")
def on_the_cpu(folder: Path) -> dict[str, Any]:
    answer = profiled(folder, "cpu")
    assert answer.result is not None, answer
    return answer.result


def bars(found: dict[str, Any]) -> list[dict[str, Any]]:
    trace = json.loads(Path(found["trace"]).read_text(encoding="utf-8"))
    return [event for event in trace["traceEvents"] if event["ph"] == "X"]


def test_bars_nest_and_sum_to_the_measured_time(on_the_cpu: dict[str, Any]) -> None:
    assert on_the_cpu["overlapping"] == 0
    phases = sum(bar["dur"] for bar in bars(on_the_cpu) if bar["cat"] == "phase") / 1e6
    # A machine with other work may take the process from its core between two bars: a part is lost, none counts twice.
    assert 0.7 * on_the_cpu["measured"] < phases <= 1.001 * on_the_cpu["measured"]
    assert 0.7 < on_the_cpu["accounted"] <= 1.001
    (compilation,) = on_the_cpu["compilations"]
    assert list(compilation["stages"]) == ["start", "rewrite", "trace", "lower", "code generation", "load"]
    assert 0.7 * compilation["seconds"] < sum(compilation["stages"].values()) <= 1.001 * compilation["seconds"]


def test_every_block_is_in_one_chunk_within_its_launch(on_the_cpu: dict[str, Any]) -> None:
    all_bars = bars(on_the_cpu)
    launches = [bar for bar in all_bars if bar["cat"] == "launch"]
    assert len(launches) == CALLS + 1
    for launch in launches:
        begin, end = launch["ts"] - 0.001, launch["ts"] + launch["dur"] + 0.001
        chunks = [b for b in all_bars if b["cat"] == "blocks" and begin <= b["ts"] and b["ts"] + b["dur"] <= end]
        seen = sorted(n for b in chunks for n in range(b["args"]["first block"], b["args"]["last block"] + 1))
        assert seen == list(range(launch["args"]["blocks"]))
    assert sum(thread["blocks"] for thread in on_the_cpu["threads"]) == CALLS * launches[0]["args"]["blocks"]


def test_lines_of_the_source_stand_beside_mlir_and_machine_code(on_the_cpu: dict[str, Any]) -> None:
    (program,) = on_the_cpu["programs"]
    assert program["stages"] == ["MLIR", "ASM"]
    stored = next(row for row in program["lines"] if "y[i] =" in row["source"])
    assert stored["counts"]["MLIR"] > 0
    assert stored["counts"]["ASM"] > 0
    assert "y[i] =" in Path(on_the_cpu["listing"]).read_text(encoding="utf-8")


@pytest.mark.skipif(find_program("ptxas") is None, reason="needs an assembler for NVIDIA GPUs")
def test_instructions_of_a_gpu_need_none(folder: Path) -> None:
    found = profiled(folder, "gpu", "nvptx:sm_80").result
    assert found is not None
    (program,) = found["programs"]
    has_sass = find_program("nvdisasm") is not None
    assert program["stages"] == ["MLIR", "PTX", *(["SASS"] if has_sass else [])]
    assert program["notes"] == ([] if has_sass else [NO_SASS])
    stored = next(row for row in program["lines"] if "y[i] =" in row["source"])
    assert any("st.global" in text for text in stored["instructions"]["PTX"])
    assert program["resources"]["scaled_kernel"]["registers"] > 0
    assert found["calls"] == 0


def test_the_pool_that_everybody_uses_keeps_no_records() -> None:
    plain = pool_code()
    assert "_record" not in plain
    assert "recorded" not in plain
    assert with_records(plain).count("@chunk_recorded(ptr %chunk") == 4  # three calls, and the function


def test_moments_are_reported_to_whoever_listens() -> None:
    heard: list[Moment] = []
    LISTENERS.append(heard.append)
    try:
        with during("outer", "phase"):
            past("inner", 0)
    finally:
        LISTENERS.pop()
    past("nobody hears it", 0)
    assert [moment.name for moment in heard] == ["inner", "outer"]


def test_bars_that_cross_are_found() -> None:
    outer, inner = Bar("a", "", 1, 0.0, 10.0), Bar("b", "", 1, 2.0, 5.0)
    assert overlapping([outer, inner, Bar("c", "", 2, 5.0, 15.0)]) == []
    assert overlapping([outer, inner, Bar("d", "", 1, 8.0, 18.0)]) != []


@given(began=st.integers(0, 10**15), times=st.lists(st.integers(0, 10**10), min_size=3, max_size=9, unique=True))
def test_what_ends_when_the_next_begins_does_not_cross_it(began: int, times: list[int]) -> None:
    edges = sorted(began + time for time in times)
    inner = [Moment("inner", begin, end, 1) for begin, end in pairwise(edges)]
    outer = Moment("outer", edges[0], edges[-1], 1)
    threads = Threads(1)
    assert overlapping([bar_of(moment, began, threads) for moment in [*inner, outer]]) == []


# lines ------------------------------------------------------------------------------------------------------------
def test_mlir_is_listed_by_where_it_was_written() -> None:
    text = """
module {
  func.func @f(%arg0: i32) {
    scf.if %0 {
      %1 = arith.addi %arg0, %arg0 : i32 loc(#loc3)
    } loc(#loc2)
    return loc(#loc)
  } loc(#loc1)
} loc(#loc)
#loc = loc(unknown)
#loc1 = loc("f"("k.py":1:1))
#loc2 = loc("k.py":7:3 to :9:1)
#loc3 = loc(callsite("helper"("h.py":4:2) at #loc2))
"""
    listing = mlir_listing(text)
    assert listing.by_place() == {
        ("h.py", 4): ["%1 = arith.addi %arg0, %arg0 : i32"],
        ("k.py", 7): ["scf.if %0 {"],
    }
    assert listing.without_place == 1


def test_assembly_is_listed_by_its_last_loc() -> None:
    text = """
\t.file\t1 "/p" "k.py"
k:
\tpushq\t%rbp
\t.loc\t1 7 3
\tmovl\t$1, %eax   # a comment
.LBB0_1:
\taddl\t$1, %eax
\t.loc\t1 0 3
\tretq
"""
    listing = assembly_listing(text, "ASM")
    assert listing.by_place() == {("/p/k.py", 7): ["movl $1, %eax", "addl $1, %eax"]}
    assert listing.without_place == 2


def test_sass_is_listed_without_padding() -> None:
    text = """
.text.k:
        /*0000*/                   MOV R1, c[0x0][0x28] ;
\t//## File "k.py", line 9
        /*0010*/              @!P0 FFMA R0, R2, R7, 1 ;
        /*0020*/                   NOP;
"""
    listing = sass_listing(text)
    assert listing.rows == [(None, "MOV R1, c[0x0][0x28]"), (("k.py", 9), "@!P0 FFMA R0, R2, R7, 1")]


# profilers of GPUs --------------------------------------------------------------------------------------------------
def test_only_calls_are_in_the_range_of_a_profiler(tmp_path: Path) -> None:
    done: list[str] = []

    class Driver:
        def __getattr__(self, name: str) -> Any:
            return lambda: done.append(name)

    contract = Contract(tmp_path / "k.py", lambda: done.append("call"), lambda: None, list)
    gpu_tools.run(contract, "", 2, Driver())
    assert done == ["call", "cuCtxSynchronize", "cuProfilerStart", "call", "call", "cuCtxSynchronize", "cuProfilerStop"]


def test_the_command_of_a_profiler_is_printed_or_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "k.py"
    file.write_text("", encoding="utf-8")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["profile", str(file), "--tool", "nsys"]) == 0
    assert "nsys is not on the PATH" in capfd.readouterr().out
    tool = tmp_path / "ncu"
    tool.write_text('#!/bin/sh\necho "$TRIPTYCH_LINE_INFO $@"\nexit 3\n', encoding="utf-8")
    os.chmod(tool, 0o755)
    assert main(["profile", str(file), "--tool", "ncu", "--calls", "2"]) == 3
    assert f"1 {' '.join(command('ncu', file, '', 2)[1:])}" in capfd.readouterr().out


@pytest.mark.parametrize("words", [["no_such.py"], ["no_such.py", "--calls", "1"]])
def test_a_profile_that_cannot_be_made_is_reported(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["profile", *words]) == 2
    assert "TT0720" in capsys.readouterr().err
