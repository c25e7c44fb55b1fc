"""Programs by the store or the compiler: by the key of a function, by what was traced of it, or made here."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from types import ModuleType
from typing import NamedTuple, TypeAlias

from triptych.artifact_store.configured import default_store
from triptych.artifact_store.events import report
from triptych.artifact_store.record import Entry
from triptych.artifact_store.store import Store
from triptych.driver.cache_misses import check_unsealed
from triptych.driver.compile_jobs import Job
from triptych.driver.listeners import COMPILE_LISTENERS
from triptych.driver.stored_programs import code_of, entry_of, program_of, trace_key, why_traced
from triptych.fingerprint.cache_key import Key
from triptych.metastage.arguments.results import Rebuild
from triptych.metastage.trace import locations
from triptych.metastage.trace.trace import too_deep
from triptych.stages import Loaded, Rewritten, Traced
from triptych.support.config import config
from triptych.support.dataclass import dataclass
from triptych.support.errors import TriptychError
from triptych.support.forking import import_late
from triptych.support.timeline import STAGE, during, underway

Effects: TypeAlias = Callable[[Traced], str]
"""What tracing has changed, or read past the key, as a clause; empty if nothing."""


class Program(NamedTuple):
    """A program that can be called, and where its readable forms come from."""

    rewritten: Callable[[], Rewritten | None]
    loaded: Loaded
    rebuild: Rebuild
    unkept: str = ""
    """Why every process has to trace it, as a clause."""
    code_key: str = ""
    """Where the store has the code of such a program."""


def compiled_program(job: Job, known: KnownCode | None = None) -> Program:
    """Compile, with words of our own for a program that is nested too deeply."""
    try:
        with during("load the compiler", STAGE):
            compiler = _stages()
        with underway(f"compiling {job.name} for {job.target.name}"):
            rewritten, loaded, rebuild = compiler.compile_stages(job, known)
        return Program(lambda: rewritten, loaded, rebuild)
    except RecursionError as error:
        if isinstance(error, TriptychError):
            raise
        found = f"Python's stack, which takes {sys.getrecursionlimit()} calls, is full"
        span = locations.innermost(error.__traceback__)
        raise too_deep(span, found, "a program that it has room for") from None


def load_or_compile(job: Job, key: Key, effects: Effects, likely: Loaded | None) -> Program:
    """From the store if it has it; else compiled, by one process only, and kept there.

    `likely` is code of this process that serves if the program, whose tracing has effects, is the same again.
    """
    store = None if _is_watched() else default_store()
    if store is None:
        check_unsealed(job, key, None)
        return compile_here(job, KnownCode(job, key, effects, likely=likely))
    make = partial(_compile_for, store, job, key, effects, likely)
    if likely is not None or _why_never(job, key):
        return make()[0]
    return store.find_or_make(key.digest, lambda entry: _deserialized(entry, job), make)


def compile_here(job: Job, known: KnownCode) -> Program:
    """Compiled, with the reason why every process has to trace it."""
    return compiled_program(job, known)._replace(unkept=known.reason, code_key=known.found)


def _compile_for(
    store: Store, job: Job, key: Key, effects: Effects, likely: Loaded | None
) -> tuple[Program, Entry | None]:
    """A program, and its entry if other processes can call it without tracing it; else the store has its code."""
    known = KnownCode(job, key, effects, store, likely)
    made = compile_here(job, known)
    if known.found or made.loaded is likely:
        return made, None
    entry = entry_of(made.loaded, job.target, known.missing or key, None if known.reason else made.rebuild)
    if isinstance(entry, str):
        report("unkept", key.digest, detail=f"{job.function.__qualname__}: {entry}")
        return made._replace(unkept=entry), None
    if known.missing is None:
        return made, entry
    store.publish(known.missing.digest, entry)
    return made._replace(code_key=known.missing.digest), None


@dataclass
class KnownCode:
    """Code of a program that has just been traced: what it was before if that is like it, or what the store has.

    Where tracing has effects, or depends on the process, every process must trace. The store keeps the code of such a
    program by what was traced, of which Python has no part any more.
    """

    job: Job
    key: Key
    effects: Effects
    store: Store | None = None
    likely: Loaded | None = None
    reason: str = ""
    """Why every process must trace, as a clause; empty if a key of the function is enough."""
    found: str = ""
    """The key of the code that the store had."""
    missing: Key | None = None
    """The key of the code that it should have and has not."""

    def __call__(self, traced: Traced, rebuild: Rebuild, again: Callable[[], Loaded]) -> Loaded | None:
        self.reason = _why_never(self.job, self.key) or why_traced(traced, rebuild) or self.effects(traced)
        if self.likely is not None and _is_like(traced, self.likely.compiled.lowered.traced):
            return self.likely
        if self.store is None:
            return None
        if self.reason:
            report("unkept", self.key.digest, detail=f"{self.job.function.__qualname__}: {self.reason}")
            key, target = trace_key(self.key, traced), self.job.target
            loaded = self.store.read(key.digest, lambda entry: code_of(entry, traced, target, cache(again)))
            if loaded is not None:
                self.found = key.digest
                return loaded
            self.missing = key
        check_unsealed(self.job, self.key, self.store)
        return None


def _is_like(one: Traced, other: Traced) -> bool:
    """Whether two traces gave the same program, to be called in the same way."""
    return replace(one, module=None) == replace(other, module=None) and one.module.is_like(other.module)


def _why_never(job: Job, key: Key) -> str:
    """Why a program is not even looked for. What an unrewritten function calls is not seen: it may be anything."""
    if not job.preprocessor:
        return "what a function with `preprocessor=False` calls is not seen"
    return "" if key.portable else "it reads an object that only this process has"


def _stages() -> ModuleType:
    """The compiler: a process that finds its programs in the store never imports it."""
    return import_late("triptych.driver.compile_stages")


def _is_watched() -> bool:
    """Whether the settings, or a tool, ask to see every compilation."""
    return config().print_ir or bool(config().keep or COMPILE_LISTENERS)


def _deserialized(entry: Entry, job: Job) -> Program:
    again = cache(lambda: compiled_program(job))
    loaded, rebuild = program_of(entry, job.target, lambda: again().loaded)
    return Program(cache(lambda: _stages().rewritten_of(job)), loaded, rebuild)
