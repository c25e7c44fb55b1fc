"""`triptych run --compile-only`: what each kernel of a program takes of a GPU, although there is none.

The program runs as it is, but calls of compiled functions do nothing, and so do `torch.testing.assert_close` and its
relatives: there is nothing to compare, and what follows is compiled, too. A program that ends with an exception all the
same, as of an `assert`, has not compiled what follows: that is told, and the exit code is 1.

Every process of the program writes what it compiles to a folder, as lines of JSON: its children begin with the setting
`compile_only`, which names it, or are forks.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import asdict, replace
from importlib.util import find_spec
from pathlib import Path
from traceback import walk_tb
from types import ModuleType
from typing import Any

from triptych.driver.listeners import COMPILE_LISTENERS
from triptych.stages import Compiled, Loaded
from triptych.support.config import config, hand_down
from triptych.support.dataclass import dataclass
from triptych.support.errors import TriptychError
from triptych.support.forking import import_late
from triptych.targets.nvptx.report.machine_code import machine_instructions
from triptych.targets.nvptx.report.usage import Usage

_TESTING = ("numpy.testing", "torch.testing")

HEADS = ("kernel", "line", "arch", "registers", "shared", "spilled", "instructions", "threads", "blocks per SM")


@dataclass(frozen=True, slots=True)
class Row:
    """One kernel of one compilation; None is what only the launch knows."""

    kernel: str
    line: str
    """Of the function that launches it."""
    architecture: str
    registers: int
    shared: int | None
    """Bytes of shared memory of a block."""
    spilled: int
    """Bytes that each thread moves to local memory and back."""
    instructions: int
    threads: int | None
    blocks_at_once: int | None
    """Of it that a multiprocessor holds."""


@dataclass(slots=True)
class CompileOnly:
    """What a program compiled, and how it ended after calls that did nothing."""

    folder: Path
    rows: Sequence[Row] = ()
    """At the end, every kernel, in the order of compilations; those of this process first, then of its children."""
    calls: int = 0
    checks: int = 0
    ended_by: str = ""
    is_cut_short: bool = False

    def collect(self) -> None:
        """Read what all processes have written."""
        files = sorted(self.folder.glob("*.jsonl"), key=lambda file: (file != self._file, file.stat().st_mtime_ns))
        lines = [line for file in files for line in file.read_text(encoding="utf-8").splitlines()]
        self.rows = [Row(**json.loads(line)) for line in lines]

    @property
    def _file(self) -> Path:
        """Of this process, which may be a fork of the one that began."""
        return self.folder / f"{os.getpid()}.jsonl"

    def report(self, *, as_json: bool = False) -> str:
        """The table for people, or JSON."""
        rows = self.rows
        if as_json:
            return json.dumps({"kernels": [asdict(row) for row in rows], "ended_by": self.ended_by}, indent=2)
        named = [asdict(replace(row, line=Path(row.line).name)).values() for row in rows]
        cells = [HEADS, *(["launch" if cell is None else str(cell) for cell in row] for row in named)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in cells]
        lines += [] if rows else ["the program compiled no kernel"]
        lines += [f"calls of compiled functions that did nothing: {self.calls}"] if self.calls else []
        lines += [f"checks of results that did nothing: {self.checks}"] if self.checks else []
        cut = ": what follows was not compiled" if self.is_cut_short else ""
        lines += [f"then the program ended with {self.ended_by}{cut}"] if self.ended_by else []
        return "\n".join(lines)

    def exit_code(self) -> int:
        """Whether every kernel of the program is in the list."""
        return int(self.is_cut_short)

    def check(self, *_: object, **__: object) -> None:
        """In the place of a check of results."""
        self.checks += 1

    def watch(self, loaded: Loaded) -> Loaded:
        """Keep a compilation, and let calls of it do nothing."""
        with suppress(FileNotFoundError), self._file.open("a", encoding="utf-8") as file:  # nobody asks any more
            file.writelines(json.dumps(asdict(row)) + "\n" for row in _rows(loaded.compiled))
        results = len(loaded.compiled.lowered.traced.results)

        def call(*_: object, **__: object) -> Any:
            self.calls += 1
            return [None] * results if results > 1 else None

        return replace(loaded, call=call, attempt=None, reads=None)

    def excuses(self, error: BaseException) -> bool:
        """Whether a program may end so: with a check of results that nobody has computed."""
        if not self.calls or isinstance(error, TriptychError) or not isinstance(error, Exception | SystemExit):
            return False
        entries = [frame for frame, _ in walk_tb(error.__traceback__) if frame.f_globals.get("__name__") == "__main__"]
        lines = [line for frame, line in walk_tb(error.__traceback__) if frame in entries]
        place = f" at {entries[-1].f_code.co_filename}:{lines[-1]}" if entries else ""
        self.ended_by = f"{type(error).__name__}{place}"
        self.is_cut_short = not isinstance(error, SystemExit)
        return True


@contextmanager
def compiling_only() -> Iterator[CompileOnly]:
    """Inside, nothing that is compiled runs, here and in processes that start here; what they print goes to stderr."""
    with tempfile.TemporaryDirectory() as folder:
        hand_down(compile_only=folder)
        undo = _begin(found := CompileOnly(Path(folder)))
        try:
            with redirect_stdout(sys.stderr), _descriptor_of_stderr():
                yield found
        finally:
            hand_down(compile_only="")
            undo()
            found.collect()


def compile_only_if_asked() -> None:
    """For the start of every process (`triptych_compat.pth`, which Python may read twice)."""
    if config().compile_only and not COMPILE_LISTENERS:
        _begin(CompileOnly(Path(config().compile_only)))


def _begin(found: CompileOnly) -> Callable[[], None]:
    """Let calls and checks do nothing. What is returned undoes it."""
    COMPILE_LISTENERS.append(found.watch)
    replaced = [(module, name, getattr(module, name)) for module, name in _checks()]
    for module, name, _ in replaced:
        setattr(module, name, found.check)

    def undo() -> None:
        COMPILE_LISTENERS.remove(found.watch)
        for module, name, check in replaced:
            setattr(module, name, check)

    return undo


@contextmanager
def _descriptor_of_stderr() -> Iterator[None]:
    """Inside, stdout of native code and of children is stderr."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)


def _checks() -> Iterator[tuple[ModuleType, str]]:
    """The functions that compare results with what was expected."""
    for module in (import_late(name) for name in _TESTING if find_spec(name.partition(".")[0]) is not None):
        yield from ((module, name) for name in dir(module) if name.startswith("assert_"))


def _rows(compiled: Compiled) -> Iterator[Row]:
    usage: Callable[[], dict[str, Usage]] = compiled.views["usage"]
    counts = machine_instructions(compiled.views["cubin"]())
    span = compiled.lowered.traced.span
    for name, used in usage().items():
        of = used.resources
        yield Row(
            name,
            f"{span.file}:{span.line}" if span is not None else "",
            of.architecture,
            of.registers,
            used.shared,
            of.spill_stores + of.spill_loads,
            counts[name],
            used.threads,
            used.occupancy.get(of.architecture),
        )
