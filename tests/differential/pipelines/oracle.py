"""What judges a kernel of producers and consumers: the CPU in every order of copies, and PTX on the PTX simulator."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import triptych
from tests.differential.judge import Failure
from tests.differential.pipelines.program import PipelineProgram
from tests.differential.program import Program, loaded
from tests.support.ptx.handwritten import ORDERS
from tests.support.ptx.unified import numpy_gpu
from triptych import cute, pipeline
from triptych.cute.nvgpu import cpasync
from triptych.cute.runtime import from_dlpack
from triptych.support.config import override

_NAMES: dict[str, Any] = {"tt": triptych, "cute": cute, "pipeline": pipeline, "cpasync": cpasync}


def _tensors(program: PipelineProgram, out: Any) -> tuple[Any, Any]:
    given, target = (from_dlpack(array, assumed_align=16) for array in (program.given(), out))
    return given, target


def _differs(program: PipelineProgram, where: str, items: int, compiled: Any) -> Failure | None:
    out = program.out()
    try:
        compiled(*_tensors(program, out), items)
    except Exception as error:
        return Failure(f"{where}: {type(error).__name__}", f"{where}, {items} items: {error}\n{program}")
    expected = program.expected(items)
    if np.array_equal(out, expected):
        return None
    place = tuple(np.argwhere(out != expected)[0].tolist())
    seen = f"out{list(place)} is {out[place]}, not {expected[place]}"
    return Failure(f"{where}: other values", f"{where}, {items} items: {seen}\n{program}")


@contextmanager
def _compiled(program: PipelineProgram) -> Iterator[Any]:
    with loaded(Program(program.source, "launch", ()), _NAMES) as launch, override(async_=program.order):
        yield triptych.compile(launch, *_tensors(program, program.out()), 1, opt_level=program.level)


def judge(program: PipelineProgram) -> Failure | None:
    """On the CPU."""
    try:
        with _compiled(program) as compiled:
            found = (_differs(program, f"CPU {program.order}", items, compiled) for items in program.calls)
            return next((failure for failure in found if failure), None)
    except Exception as error:
        return Failure(f"refused: {type(error).__name__}", f"{error}\n{program}")


def judge_ptx(program: PipelineProgram) -> Failure | None:
    """On the PTX simulator: each call with copies in another order."""
    with numpy_gpu("sm_90a") as library, _compiled(program) as compiled:
        for order, items in zip(ORDERS, program.calls, strict=False):
            library.gpu.order = order
            if failure := _differs(program, f"PTX {order}", items, compiled):
                return failure
    return None


def judge_both(program: PipelineProgram) -> Failure | None:
    """Everywhere."""
    return judge(program) or judge_ptx(program)
