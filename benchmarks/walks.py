"""Not speed: how far a reader steps through the compiler, in Python calls, files, folders and changes of file.

    python -m benchmarks.walks [--json]

Each walk is the second compilation of its kind in a process, so that nothing is imported on the way: a `@jit` function,
a kernel of one line and a Hopper GEMM, for the CPU and for sm_90a, and a kernel with a race from call to report. A
change is a call that goes on in another file than the call before it. Bodies of modules, lambdas and comprehensions do
not count.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import numpy as np

import triptych as tt
from benchmarks.matrix_rounds import example
from triptych import cute
from triptych.support.config import override

PACKAGE = os.path.dirname(tt.__file__) + os.sep
GPU = "nvptx:sm_90a"


@dataclass
class Walk:
    """What one compilation steps through."""

    name: str
    calls: int = 0
    changes: int = 0
    files: set[str] = field(default_factory=set)
    _last: str = ""

    def step(self, frame: FrameType, event: str, _: Any) -> None:
        """A profile function: notes calls of functions of the package."""
        path, name = frame.f_code.co_filename, frame.f_code.co_name
        if event != "call" or name.startswith("<") or not path.startswith(PACKAGE):
            return
        self.calls += 1
        self.changes += path != self._last
        self._last = path
        self.files.add(path)

    def row(self) -> dict[str, Any]:
        folders = {os.path.dirname(path) for path in self.files}
        return {
            "walk": self.name,
            "calls": self.calls,
            "files": len(self.files),
            "folders": len(folders),
            "changes": self.changes,
        }


def walk(name: str, compile_one: Callable[[Any], Any], first: Any, second: Any) -> Walk:
    """The second compilation, after the first has imported and started everything."""
    compile_one(first)
    taken = Walk(name)
    sys.setprofile(taken.step)
    try:
        compile_one(second)
    finally:
        sys.setprofile(None)
    return taken


def host_functions() -> Iterator[Any]:
    @tt.jit
    def sum_of(a: tt.Int32, b: tt.Int32) -> tt.Int32:
        return a + b

    @tt.jit
    def product_plus_one(a: tt.Int32, b: tt.Int32) -> tt.Int32:
        return a * b + 1

    yield from (sum_of, product_plus_one)


def small_kernels() -> Iterator[Any]:
    for factor in (2, 3):

        @tt.kernel
        def scale(x: cute.Tensor, factor: tt.Constexpr[int]) -> None:
            thread, _, _ = cute.arch.thread_idx()
            x[thread] = x[thread] * factor

        @tt.jit
        def launch(x: cute.Tensor, factor: tt.Constexpr[int] = factor, kernel: tt.Constexpr[Any] = scale) -> None:
            kernel(x, factor).launch(grid=1, block=64)

        yield launch


def racy_kernels() -> Iterator[Any]:
    for distance in (1, 2):

        @tt.kernel
        def shift(x: cute.Tensor, distance: tt.Constexpr[int]) -> None:
            thread, _, _ = cute.arch.thread_idx()
            tile = cute.SmemAllocator().allocate_tensor(tt.Float32, cute.make_layout(128))
            tile[thread] = x[thread]
            x[thread] = tile[thread + distance]

        @tt.jit
        def launch(x: cute.Tensor, distance: tt.Constexpr[int] = distance, kernel: tt.Constexpr[Any] = shift) -> None:
            kernel(x, distance).launch(grid=1, block=64)

        yield launch


def report_of(function: Any) -> None:
    """Calls it under the race detector, which must find the race."""
    with override(debug="races"):
        try:
            function(np.zeros(64, np.float32))
        except tt.TriptychError:
            return
    raise AssertionError("the race is not found")


def walks() -> Iterator[Walk]:
    numbers = np.zeros(64, np.float32)
    yield walk("(a) @jit of a * b + 1", lambda function: function(2, 3), *host_functions())
    yield walk("(b) one-line kernel to CPU code", lambda function: function(numbers), *small_kernels())
    yield walk("(c) the same to PTX", lambda function: tt.compile(function, numbers, target=GPU), *small_kernels())
    hopper = example("hopper_gemm")
    for name, target in (("(d) Hopper GEMM to CPU code", "cpu"), ("(d') the same to PTX", GPU)):

        def compile_gemm(dtype: str, target: str = target) -> None:
            x, w = hopper.get_inputs(64, 128, 64, dtype)
            tensors = (hopper.operand_of(x), hopper.operand_of(w), np.empty((64, 128), x.dtype))
            tt.compile(hopper.gemm, *tensors, target=target)

        yield walk(name, compile_gemm, "bf16", "f16")
    yield walk("(e) a race, from the call to the report", report_of, *racy_kernels())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print the rows as JSON")
    options = parser.parse_args()
    rows = [taken.row() for taken in walks()]
    if options.json:
        print(json.dumps(rows, indent=2))
        return 0
    for row in rows:
        print(f"{row['walk']:42}" + "".join(f"{row[key]:>10,} {key}" for key in list(row)[1:]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
