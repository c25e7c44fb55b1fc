"""`triptych check` beyond plain runs: other orders, hints, pictures, kernel files, comments that allow."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from triptych.workbench.commands.cli import main

_HEAD = """
import numpy as np
import triptych as tt
from triptych import cute
arch = cute.arch

def smem(dtype, count):
    return cute.make_tensor(arch.alloc_smem(dtype, count, 16), cute.make_layout(count))

@tt.kernel
def k(x: cute.Tensor, out: cute.Tensor):
    t, _, _ = arch.thread_idx()
    s = smem(tt.Float32, 64)
"""
_TAIL = """
@tt.jit
def run(x: cute.Tensor, out: cute.Tensor):
    k(x, out).launch(grid=1, block=64)
"""
_CALL = """
out = np.zeros(64, np.float32)
run(np.ones(64, np.float32), out)
"""
_CONTRACT = """
def get_inputs(seed=0):
    return [np.ones(64, np.float32)]

def kernel_fn(x):
    out = np.zeros_like(x)
    run(x, out)
    return out

def reference_fn(x):
    return x
"""
_RACE = """
    s[t] = x[t]
    out[t] = s[63 - t]{comment}
"""
_ORDERS = {
    "in segments": "    if t % 32 == 0:\n        out[t // 32] = tt.Float32(arch.atomic_add(c.iterator, tt.Int32(1)))",
    "as coroutines": "    arch.barrier(barrier_id=1 + t // 32, number_of_threads=32)\n"
    "    if t % 32 == 0:\n        out[t // 32] = tt.Float32(arch.atomic_add(c.iterator, tt.Int32(1)))",
}
_COUNTER = """
    c = smem(tt.Int32, 1)
    if t == 0:
        c[0] = 0
    arch.sync_threads()
"""


def file_of(folder: Path, body: str, end: str = _CALL) -> str:
    file = folder / "kernels.py"
    file.write_text(f"{_HEAD}{body}\n{_TAIL}{end}", encoding="utf-8")
    return str(file)


@pytest.mark.parametrize("kind", _ORDERS)
def test_a_result_that_depends_on_the_order_of_warps(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = file_of(tmp_path, _COUNTER + _ORDERS[kind])
    assert main(["check", file, "--only", "races", "--schedules", "4"]) == 1
    said = capsys.readouterr().out
    assert "[TT0638] out depends on the order" in said
    assert said.rstrip().endswith("1 finding")
    seed = said.partition("--seed ")[2].partition("`")[0]
    assert main(["check", file, "--only", "races", "--schedules", "1", "--seed", seed]) == 1


def test_registers_that_live_across_barriers_in_any_order(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    body = "    r = cute.make_rmem_tensor(4, tt.Float32)\n    for i in range(4):\n        r[i] = x[t] + tt.Float32(i)\n"
    body += "    s[t] = x[t]\n"
    body += "    arch.sync_threads()\n    out[t] = s[63 - t] + r[t % 4]"
    assert main(["check", file_of(tmp_path, body), "--only", "races", "--schedules", "2"]) == 0, capsys.readouterr().out


def test_a_barrier_that_nothing_needs_is_a_hint(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    body = "    s[t] = x[t]\n    arch.sync_threads()\n    out[t] = s[63 - t]\n    arch.sync_threads()  # no use"
    assert main(["check", file_of(tmp_path, body), "--only", "races", "--hints", "--json"]) == 0
    (hint,) = json.loads(capsys.readouterr().out)["hints"]
    lines = (tmp_path / "kernels.py").read_text(encoding="utf-8").splitlines()
    assert lines[hint["line"] - 1].endswith("# no use")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (
            "    if t < 32:\n        arch.barrier_arrive(barrier_id=1, number_of_threads=64)",
            "is never complete: blocks end after 32 of 64 threads",
        ),
        ("    if t == 40:\n        arch.sync_warp(1 << 8)", "always alone, such as thread 40"),
        ("    if t % 32 == 3:\n        arch.barrier(barrier_id=1, number_of_threads=64)", "alone, such as thread 3"),
    ],
)
def test_who_comes_to_a_barrier_is_a_hint(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], body: str, said: str
) -> None:
    needed = "    s[t] = x[t]\n    arch.barrier(barrier_id=2, number_of_threads=64)\n    out[t] = s[63 - t]"
    assert main(["check", file_of(tmp_path, f"{body}\n{needed}"), "--only", "races", "--hints", "--json"]) == 0
    (hint,) = json.loads(capsys.readouterr().out)["hints"]
    assert said in hint["title"]


def test_a_program_that_launches_nothing_is_not_called_clean(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "nothing.py"
    file.write_text("import triptych as tt\n", encoding="utf-8")
    assert main(["check", str(file)]) == 2
    assert "no kernel was launched" in capsys.readouterr().out


def test_a_kernel_file_and_a_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = file_of(tmp_path, _RACE.format(comment=""), _CONTRACT)
    assert main(["check", file, "--only", "races", "--svg", str(tmp_path / "pictures")]) == 1
    assert "[TT0630] a race in k" in capsys.readouterr().out
    (picture,) = (tmp_path / "pictures").iterdir()
    assert picture.name == "finding-1-TT0630.svg"
    assert "bank" in picture.read_text(encoding="utf-8")


def test_a_comment_allows_and_is_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = file_of(tmp_path, _RACE.format(comment="  # triptych: allow TT0630 benign: a test"))
    assert main(["check", file, "--only", "races"]) == 0
    assert capsys.readouterr().out.rstrip() == "0 findings, 1 allowed by comments"


def test_requests_that_mean_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(tmp_path / "nothing.py")]) == 2
    assert "there is no file" in capsys.readouterr().err
