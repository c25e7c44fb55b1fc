"""What judges a GEMM of Blackwell: the CPU in an order of asynchronous operations, and PTX on the PTX simulator."""

from __future__ import annotations

import ml_dtypes
import numpy as np

from tests.differential.blackwell.kernel import Gemm
from tests.differential.blackwell.program import GemmProgram
from tests.differential.judge import Failure
from tests.support.ptx.handwritten import ORDERS
from tests.support.ptx.unified import numpy_gpu
from triptych.cute.runtime import from_dlpack
from triptych.support.config import override

_AS_BYTES = (ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2)


def _differs(program: GemmProgram, where: str) -> Failure | None:
    arrays = [program.operand(which)[1] for which in (0, 1)]
    arrays += [program.scales(which)[1] if program.is_scaled else np.zeros(16, np.uint8) for which in (0, 1)]
    out, expected = program.out(), program.expected()
    given = [array.view(np.uint8) if array.dtype in _AS_BYTES else array for array in (*arrays, out)]
    try:
        Gemm(program)(*(from_dlpack(array, assumed_align=16) for array in given))
    except Exception as error:
        return Failure(f"{where}: {type(error).__name__} {str(error)[:80]}", f"{where}: {error}\n{program}")
    if np.array_equal(out.astype(np.float64), expected.astype(np.float64)):
        return None
    wrong = np.argwhere(out != expected)
    place = tuple(wrong[0].tolist())
    seen = f"{len(wrong)} of {out.size}, out{list(place)} is {out[place]}, not {expected[place]}"
    return Failure(f"{where}: other values", f"{where}: {seen}\n{program}")


def judge(program: GemmProgram, order: str = "") -> Failure | None:
    """On the CPU, in an order of asynchronous operations: its own, or another."""
    with override(async_=order or program.order):
        return _differs(program, "CPU")


def judge_ptx(program: GemmProgram) -> Failure | None:
    """On the PTX simulator, in one of its orders."""
    with numpy_gpu("sm_100a") as library:
        library.gpu.order = ORDERS[program.factor % len(ORDERS)]
        return _differs(program, "PTX")
