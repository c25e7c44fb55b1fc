"""`check-launch`: the CPU refuses launches whose blocks would have to run at the same time."""

from __future__ import annotations

import pytest

from tests.passes.running import kernel, parsed
from triptych.ir.errors import LoweringError
from triptych.targets.cpu.passes.check_launch import check_launch

HOST = """
func.func @host() {
  %1 = arith.constant 1 : i32
  %2 = arith.constant 2 : i32
  gpu.launch_func @kernels::@k CLUSTER blocks in (%2, %1, %1) threads in (%1, %1, %1) : i32 FLAGS
  return
}
"""


def program(cluster: str = "", flags: str = "") -> str:
    return kernel("", host=HOST.replace("CLUSTER", cluster).replace("FLAGS", flags))


def test_blocks_of_their_own() -> None:
    check_launch(parsed(program()))


def test_clusters() -> None:
    with pytest.raises(LoweringError, match="no clusters of several blocks"):
        check_launch(parsed(program(cluster="clusters in (%2, %1, %1)")))


def test_cooperative_launches() -> None:
    check_launch(parsed(program(flags="{triptych.cooperative}")))
