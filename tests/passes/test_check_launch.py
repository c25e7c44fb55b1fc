"""`check-launch`: the CPU refuses clusters that are larger than those of any machine."""

from __future__ import annotations

import pytest

from tests.passes.running import kernel, parsed
from triptych.ir.errors import LoweringError
from triptych.targets.cpu.passes.lower_launch import check_launch

HOST = """
func.func @host() {
  %1 = arith.constant 1 : i32
  %2 = arith.constant 2 : i32
  %32 = arith.constant 32 : i32
  gpu.launch_func @kernels::@k CLUSTER blocks in (%32, %1, %1) threads in (%1, %1, %1) : i32 FLAGS
  return
}
"""


def program(cluster: str = "", flags: str = "") -> str:
    return kernel("", host=HOST.replace("CLUSTER", cluster).replace("FLAGS", flags))


def test_blocks_of_their_own() -> None:
    check_launch(parsed(program()))


def test_clusters() -> None:
    check_launch(parsed(program(cluster="clusters in (%2, %1, %1)")))
    with pytest.raises(LoweringError, match="at most 16 blocks"):
        check_launch(parsed(program(cluster="clusters in (%32, %1, %1)")))


def test_cooperative_launches() -> None:
    check_launch(parsed(program(flags="{triptych.cooperative}")))
