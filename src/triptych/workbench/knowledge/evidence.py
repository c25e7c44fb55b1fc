"""Evidence of knowledge pages: scripts beside them run on the code that the pages show, and count or measure.

A script has `counted(page)`, `measured(page)` or both; `page` is a module with everything that the page's Python blocks
define, and the result is rows of a table. What is counted comes from the PTX simulator, the checkers or the compiler,
and is the same on every machine.
"""

from __future__ import annotations

import io
import math
import re
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from types import ModuleType
from typing import TypeAlias

from triptych.driver.listeners import COMPILE_LISTENERS
from triptych.ptxsim.counting import WORD, CountedLaunch
from triptych.ptxsim.reading import TYPE_BYTES, Instruction, Kernel
from triptych.sanitizer.checkers import DEFAULT
from triptych.sanitizer.finding_errors import error_of
from triptych.sanitizer.findings import collecting
from triptych.stages import Loaded
from triptych.support.config import override
from triptych.support.errors import TriptychError
from triptych.support.processors import processor_model
from triptych.workbench.contracts.loading import load_module
from triptych.workbench.costs.report import blocks_of, by_kind
from triptych.workbench.costs.simulation import counted
from triptych.workbench.costs.table import fits
from triptych.workbench.installed_files import examples_folder
from triptych.workbench.knowledge.pages import COUNTED, MEASURED, KnowledgePage, table_text
from triptych.workbench.measurement.clocks import HostClock
from triptych.workbench.measurement.sampling import in_turns, warm_up
from triptych.workbench.units import time_text

Rows: TypeAlias = list[dict[str, object]]
Launch: TypeAlias = Callable[[], object]
_SUMS = {
    "warp instructions": "issued",
    "active lanes": "lanes",
    "global requests": "global_requests",
    "global sectors": "sectors",
    "shared requests": "shared_requests",
    "shared wavefronts": "wavefronts",
    "bank conflicts": "conflicts",
    "divergent branches": "splits",
    "local requests": "local_requests",
    "atomics": "atomics",
    "serialized atomics": "atomic_turns",
}
"""Columns that are sums over all blocks, and their counts."""
_SECONDS = 2.0
_REGISTER = re.compile(r"%[a-z]+\d+")
_JUMPS = ("bra", "brx", "ret", "exit", "trap")
_WRITE_NOTHING = (*_JUMPS, "st", "red", "bar", "barrier", "cp", "fence", "membar", "prefetch", "wgmma", "mbarrier")


def counts(launches: Mapping[str, Launch], columns: Sequence[str], arch: str = "sm_80") -> Rows:
    """A row for each call, all its blocks run on the PTX simulator. Other columns are kinds of instructions."""
    rows: Rows = []
    for name, launch in launches.items():
        with override(assembler="driver"), counted(arch) as run:
            launch()
        made = run.counting.launches
        rows.append({"version": name} | {column: _count(made, column, arch) for column in columns})
    return rows


def _count(launches: Sequence[CountedLaunch], column: str, arch: str) -> int:
    if column == "launches":
        return sum(each.alike for each in launches)
    if column == "blocks":
        return sum(blocks_of(each) for each in launches)
    if column == "shared bytes of a block":
        return max(each.shared_bytes for each in launches)
    if column == "blocks on an SM":
        return min(fit.blocks for each in launches for fit in fits(each, {}) if fit.architecture == arch)
    if column == "warp instructions of the longest block":
        return max(sum(one.issued for one in block.counts.values()) for each in launches for block in each.blocks)
    if column == "PTX instructions":
        return sum(len(each.kernel.instructions) for each in launches)
    if column == "live registers":
        return max(live_registers(each.kernel) for each in launches)
    total = 0
    for each in launches:
        if column in _SUMS:
            every = (counts for block in each.blocks for counts in block.counts.values())
            total += each.alike * sum(getattr(one, _SUMS[column]) for one in every)
        else:
            kinds: Counter[str] = Counter()
            for block in by_kind(each):
                kinds += block
            total += each.alike * kinds[column]
    return total


def live_registers(kernel: Kernel) -> int:
    """Registers of 32 bits that are live at once, at most, in the order of the PTX; predicates are not counted."""
    code = kernel.instructions
    defined, used = zip(*map(_registers, code), strict=True)
    live: list[set[str]] = [set() for _ in range(len(code) + 1)]
    changes = True
    while changes:
        changes = False
        for place in reversed(range(len(code))):
            after = set().union(*(live[target] for target in _next_places(kernel, place)))
            now = (after - defined[place]) | used[place]
            changes |= now != live[place]
            live[place] = now
    return max(sum(_words(kernel, name) for name in names) for names in live)


def _registers(instruction: Instruction) -> tuple[set[str], set[str]]:
    """What an instruction writes for certain, and what it reads."""
    writes = instruction.name not in _WRITE_NOTHING
    target = instruction.operands[0] if writes and instruction.operands else ""
    defined = set(_REGISTER.findall(target)) if not instruction.guard else set()
    rest = instruction.operands[1:] if writes else instruction.operands
    return defined, {name for text in (*rest, instruction.guard) for name in _REGISTER.findall(text)}


def _next_places(kernel: Kernel, place: int) -> list[int]:
    instruction = kernel.instructions[place]
    if instruction.name not in _JUMPS:
        return [place + 1]
    names = kernel.tables.get(instruction.operands[-1], [instruction.operands[-1]]) if instruction.operands else []
    targets = [kernel.labels[name] for name in names if name in kernel.labels]
    return [*targets, place + 1] if instruction.guard else targets


def _words(kernel: Kernel, name: str) -> int:
    kind = kernel.registers.get(name) or kernel.registers[name.rstrip("0123456789")]
    return 0 if kind == "pred" else -(-TYPE_BYTES[kind] // WORD)


def findings(launches: Mapping[str, Launch]) -> Rows:
    """A row for each call under the checkers on the CPU: what they find, by its code, and how it ends."""
    rows: Rows = []
    for name, launch in launches.items():
        ended = ""
        with override(debug=DEFAULT, cache=False), collecting() as collection:
            try:
                launch()
            except TriptychError as error:
                ended = error.code
        codes = sorted({error_of(each).code for each in collection.faults} | ({ended} if ended else set()))
        rows.append({"version": name, "findings": len(collection.faults) + bool(ended), "codes": " ".join(codes)})
    return rows


def compilations(calls: Mapping[str, Launch]) -> Rows:
    """A row for each call: how many programs it compiles."""
    rows: Rows = []
    for name, call in calls.items():
        with override(cache=False), _compiled() as made:
            call()
        rows.append({"version": name, "compilations": len(made)})
    return rows


@contextmanager
def _compiled() -> Iterator[list[Loaded]]:
    made: list[Loaded] = []

    def listen(loaded: Loaded) -> Loaded:
        made.append(loaded)
        return loaded

    COMPILE_LISTENERS.append(listen)
    try:
        yield made
    finally:
        COMPILE_LISTENERS.remove(listen)


def compared(calls: Mapping[str, Launch], before: Mapping[str, Launch] | None = None) -> Rows:
    """The first call, and each other against it, in turns in one process. `before` runs before a sample of a side."""
    (base, first), *others = calls.items()
    clock, prepare = HostClock(), before or {}
    rows: Rows = []
    for name, call in others:
        for each in (first, call):
            warm_up(each)
        both = (prepare.get(base, _nothing), prepare.get(name, _nothing)) if prepare else None
        found = in_turns(first, call, clock, _SECONDS, before=both)
        ratio, low, high = (math.exp(x) for x in (found.ratio.estimate, found.ratio.low, found.ratio.high))
        times = [time_text(_median(samples)) for samples in (found.second, found.first)]
        figures = (*times, f"{ratio:.2f}", f"{low:.2f} to {high:.2f}", found.verdict)
        heads = ("time", f"time of: {base}", "ratio", "interval", "verdict")
        rows.append({"version": name, **dict(zip(heads, figures, strict=True))})
    return rows


def _nothing() -> None:
    pass


def _median(samples: Sequence[float]) -> float:
    return sorted(samples)[len(samples) // 2]


def example(name: str) -> ModuleType:
    """An example kernel of this version, as a module."""
    return load_module(examples_folder() / "kernels" / f"{name}.py", f"triptych_example_{name}")


def tables(page: KnowledgePage, *, measure: bool = False) -> dict[str, str]:
    """What the script of a page counts now, and measures if that is wanted, as Markdown."""
    wanted = [kind for kind in page.tables if kind == COUNTED or (kind == MEASURED and measure)]
    if not wanted:
        return {}
    with tempfile.TemporaryDirectory() as folder, redirect_stdout(io.StringIO()):
        file = Path(folder) / f"{page.name.replace('-', '_')}.py"
        file.write_text(page.code, encoding="utf-8")
        shown = load_module(file, f"triptych_page_{file.stem}")
        script = load_module(page.script, f"triptych_evidence_{file.stem}")
        found = {}
        if COUNTED in wanted:
            found[COUNTED] = table_text(script.counted(shown))
        if MEASURED in wanted:
            date = time.strftime("%Y-%m-%d", time.gmtime())
            where = f"In turns in one process, {processor_model()}, {date}. A ratio below one is less time."
            found[MEASURED] = table_text(script.measured(shown), where)
    return found
