"""A language on the base: everything it plugs in. `triptych.jit` is the base's own language; others make a `DSL`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from triptych.hooks import Hooks
from triptych.metastage.tracing import Trace
from triptych.metastage.tracing_hooks import TracingHooks
from triptych.stages import PassSpec


@dataclass(frozen=True, slots=True)
class DSL:
    """A language: its name, the hooks that say what control flow means, and passes that lower its own operations."""

    name: str
    hooks: Callable[[Trace], Hooks] = TracingHooks
    passes: tuple[PassSpec, ...] = ()
    """Run on the traced module before the target's own pass list."""


BASE = DSL("triptych")
