"""A public program on the CPU, of which the first call of each compiled function is done again in other ways.

    python -m benchmarks.replayed_calls orders RESULT SCRIPT [ARGUMENT ...]
    python -m benchmarks.replayed_calls sm_100a RESULT SCRIPT [ARGUMENT ...]

For `benchmarks.blackwell_programs`, which starts it in a process of its own. `orders` repeats a call in every order of
asynchronous work, with one thread and with two; the name of an architecture repeats it on the PTX simulator. Each time
the memory of all tensors is what it was before the call, so that whatever bytes are others afterwards were written by
the other way. What the program goes on with is the last way's. RESULT is a file that gets a line of JSON for each call.
"""

from __future__ import annotations

import ctypes
import gc
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

from tests.support.ptx.unified import numpy_gpu
from triptych.driver import compile_stages
from triptych.driver.compile_jobs import Job
from triptych.objectstage.codegen import load
from triptych.objectstage.target import find_target
from triptych.stages import Loaded
from triptych.support.config import override
from triptych.support.forking import import_late
from triptych.workbench.commands.run import RunRequest, run

SEEDS = tuple(f"seed:{seed}" for seed in range(10))
ORDERS = ("early", "late", *SEEDS)
THREADS = (1, 2)
Way = tuple[str, Callable[..., Any]]
"""Its name, and the call of a compiled function in this way."""
Memory = dict[int, bytes]
"""By addresses."""
_COMPILE = compile_stages.compile_stages


Again = Callable[[Job], Loaded]
"""Compiles a job once more."""


def orders(job: Job, usual: Loaded, again: Again) -> Iterator[Way]:
    """A program compiled for each order, and loaded for each number of threads. What differs in the seed alone is not
    optimized: that would be three quarters of the time."""
    for order in ORDERS:
        options = replace(job.options, async_order=order, opt_level=0 if order in SEEDS else job.options.opt_level)
        found = usual if options == job.options else again(replace(job, options=options))
        for threads in THREADS:
            with override(threads=threads):
                yield f"{order} with {threads}", load(found.compiled, job.target).call


def simulated(architecture: str, job: Job, usual: Loaded, again: Again) -> Iterator[Way]:
    """A program as compiled for the CPU, and for an architecture in front of the PTX simulator."""
    yield "CPU", usual.call
    with numpy_gpu(architecture, whole_memory=True), override(assembler="driver"):
        found = again(replace(job, target=find_target(f"nvptx:{architecture}")))

    def call(*args: Any, **keywords: Any) -> Any:
        with numpy_gpu(architecture, whole_memory=True):
            return found.call(*args, **keywords)

    yield "simulator", call


@dataclass(slots=True)
class Replayed:
    """A compiled function whose first call is done in all ways, which must leave the same bytes."""

    name: str
    ways: Sequence[Way]
    usual: Callable[..., Any]
    file: Path

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        ways, self.ways = self.ways, ()
        return self._in_all(ways, args, keywords) if ways else self.usual(*args, **keywords)

    def _in_all(self, ways: Sequence[Way], args: Sequence[Any], keywords: dict[str, Any]) -> Any:
        before, result = memory(), None
        first: Memory = {}
        others: dict[str, str] = {}
        seconds: dict[str, float] = {}
        for way, call in ways:
            restore(before)
            started = time.monotonic()
            result = call(*args, **keywords)
            seconds[way] = time.monotonic() - started
            after = {start: ctypes.string_at(start, len(held)) for start, held in before.items()}
            first = first or after
            if after != first:
                others[way] = difference(first, after)
        written = sum(len(held) for start, held in first.items() if held != before[start])
        line = {"function": self.name, "written": written, "others": others, "seconds": seconds}
        with self.file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        return result


def memory() -> Memory:
    """What is in the memory of all tensors of the process."""
    torch: Any = import_late("torch")
    with torch._C.DisableTorchFunction():
        held = [each for each in gc.get_objects() if issubclass(type(each), torch.Tensor)]
        kept = [each.untyped_storage() for each in held if each.layout is torch.strided and each.device.type == "cpu"]
        spans = _merged([(each.data_ptr(), each.data_ptr() + each.nbytes()) for each in kept])
    return {start: ctypes.string_at(start, end - start) for start, end in spans}


def _merged(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for start, end in sorted(span for span in spans if span[0]):
        if found and start <= found[-1][1]:
            start, end = found[-1][0], max(end, found.pop()[1])
        found.append((start, end))
    return found


def restore(before: Memory) -> None:
    """Write what has changed: other memory may be read-only."""
    for start, held in before.items():
        if ctypes.string_at(start, len(held)) != held:
            ctypes.memmove(start, held, len(held))


def difference(first: Memory, after: Memory) -> str:
    """How many bytes are others, of what is written."""
    parts = [(one, after[start]) for start, one in first.items() if one != after[start]]
    count = sum(int(x != y) for one, other in parts for x, y in zip(one, other, strict=True))
    return f"{count} of {sum(len(one) for one, _ in parts)} bytes differ"


class Attributes:
    """Those of a job's static arguments as they are now: tracing may change them, as a method that counts threads."""

    def __init__(self, job: Job) -> None:
        held = [
            each for each in job.specialization.static.values() if isinstance(getattr(each, "__dict__", None), dict)
        ]
        self._held = [(vars(each), dict(vars(each))) for each in held]

    def set(self) -> None:
        """Let them be so again."""
        for now, before in self._held:
            now.clear()
            now.update(before)


def main() -> int:
    """Run the program, whose compiled functions are replaced."""
    how, file, script, *arguments = sys.argv[1:]
    ways = orders if how == "orders" else partial(simulated, how)

    def compiled(job: Job, known: object = None) -> Any:
        before = Attributes(job)
        rewritten, loaded, rebuild = _COMPILE(job)
        if "gpu.launch_func" not in str(loaded.compiled.lowered.traced.module):
            return rewritten, loaded, rebuild
        after = Attributes(job)

        def again(other: Job) -> Loaded:
            before.set()
            found: Loaded = _COMPILE(other)[1]
            return found

        call = Replayed(job.name, tuple(ways(job, loaded, again)), loaded.call, Path(file))
        after.set()
        return rewritten, replace(loaded, call=call, attempt=None, reads=None, packed=None), rebuild

    with mock.patch.object(compile_stages, "compile_stages", compiled), override(cache=False):
        return run(RunRequest(script, arguments))


if __name__ == "__main__":
    sys.exit(main())
