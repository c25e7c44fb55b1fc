"""Run by `benchmarks.first_use` in a fresh process: prints CPU milliseconds of each phase of a first call."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import triptych as tt

marks = [("start of Python, import triptych", time.process_time())]


@tt.jit
def collatz(n: tt.Int32, scale: tt.Float32) -> Any:
    steps = 0
    total = 0.0
    value = n
    while value != 1:
        if value % 2 == 0:
            value = value // 2
        elif value > 1_000_000:
            break
        else:
            value = 3 * value + 1
        steps += 1
        total += scale
    for i in range(n):
        if i % 3 == 0 and i % 5 == 0:
            total += 1.0
        elif i > 100:
            total -= 0.5
        else:
            total *= 0.5
    return total + steps


marks.append(("load the three stages, decorate", time.process_time()))

from triptych.driver import compiling  # noqa: E402 - already loaded by the decorator

PHASES = {
    "load the target, look up, key": "rewrite",
    "pre-stage": "trace",
    "meta-stage, with loading MLIR": "lower",
    "lowering": "codegen",
    "load the linker, wait for the worker": "load",
}


def marked(what: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, with the end of the phase before it marked."""

    def run(*args: Any, **kwargs: Any) -> Any:
        marks.append((what, time.process_time()))
        return function(*args, **kwargs)

    return run


for what, next_step in PHASES.items():
    setattr(compiling, next_step, marked(what, getattr(compiling, next_step)))

assert collatz(27, 0.5) > 100
done = time.time()
marks.append(("link and run", time.process_time()))

times = [0.0, *(at for _, at in marks)]
spent = {what: (at - before) * 1e3 for before, (what, at) in zip(times, marks, strict=False)}
print(json.dumps({"done": done, "all": times[-1] * 1e3, **spent}))
