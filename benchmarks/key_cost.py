"""What a key costs: `python -m benchmarks.key_cost [--json]`.

Processor time: of the first specialization of a function, of further ones (numbers, text and kinds of tensors differ),
and of a warm call, which computes none.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Iterable
from typing import Any
from unittest import mock

import numpy as np

import triptych as tt
from triptych import cute
from triptych.driver.function_keys import FunctionKeys
from triptych.support.config import override

SCALE = 3


@tt.kernel
def scale_kernel(a: tt.Float32, x: cute.Tensor, n: tt.Constexpr[int]) -> None:
    i = cute.arch.block_idx()[0] * cute.arch.block_dim()[0] + cute.arch.thread_idx()[0]
    if i < cute.size(x):
        x[i] = a * x[i] + n * SCALE


@tt.jit
def scale(a: tt.Float32, x: cute.Tensor, n: tt.Constexpr[int]) -> None:
    scale_kernel(a, x, n).launch(grid=(cute.size(x) + 127) // 128, block=128)


def microseconds(work: Callable[[Any], object], inputs: Iterable[Any]) -> list[float]:
    """Half of them take no longer than the first number, a tenth than the second: a busy machine shows in the first."""
    times = []
    for each in inputs:
        started = time.thread_time()
        work(each)
        times.append(time.thread_time() - started)
    tenths = statistics.quantiles(times, n=10)
    return [round(tenths[4] * 1e6, 1), round(tenths[0] * 1e6, 1)]


def measure() -> dict[str, list[float]]:
    x = np.ones(8, np.float32)
    target, options = scale._target({}), scale._compile_options({})
    toolchain = {"a tool": "1"}

    def specialized(n: int) -> Any:
        return scale._specialize({"a": 1.0, "x": x, "n": n}, None)

    def new(specialization: Any) -> object:
        facts = {"own contract": None, "preprocessor": True, "language": scale.language}
        return FunctionKeys(scale.function, facts).find(specialization, options, target, "scale", toolchain)

    def known(specialization: Any) -> object:
        return scale._keys.find(specialization, options, target, "scale", toolchain)

    round_of_thousand = microseconds(lambda _: [i + 1 for i in range(1000)], range(200))
    new(specialized(0))  # what is read once in a process: releases of packages
    found = {"1,000 additions": round_of_thousand, "of a new function": microseconds(new, map(specialized, range(100)))}
    found["of a known function"] = microseconds(known, map(specialized, range(2000)))
    scale(1.0, x, 1)
    asked = mock.Mock(side_effect=AssertionError("a warm call computes no key"))
    with mock.patch.object(FunctionKeys, "find", asked):
        found["whole warm call"] = microseconds(lambda _: scale(1.0, x, 1), range(2000))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    with override(cache=False):
        found = measure()
    if parser.parse_args().json:
        print(json.dumps(found))
    else:
        print(f"{'':<22} {'median':>8} {'tenth':>8}")
        for name, (median, tenth) in found.items():
            print(f"{name:<22} {median:>8} {tenth:>8} us")


if __name__ == "__main__":
    main()
