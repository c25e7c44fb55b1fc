"""A language on the base: everything it plugs in. `triptych.jit` is the base's own language; others make a `DSL`.

This is the door for those who write a language; its users need only `triptych`. The decorator of a language is
`triptych.jit(language=...)`.
"""

from __future__ import annotations

from collections.abc import Callable

from triptych.hooks import Hooks
from triptych.ir.bindings import context
from triptych.ir.dialect import AttributeSpec, Dialect, OperationSpec
from triptych.ir.location import place_of
from triptych.ir.passes import Replacement, Rule, replacing
from triptych.metastage.control_flow.branches import BranchForm
from triptych.metastage.trace.trace import Region, Trace, place
from triptych.metastage.tracing_hooks import TracingHooks
from triptych.metastage.values.binding_time import is_dynamic
from triptych.metastage.values.emission import emit
from triptych.stages import PassSpec
from triptych.support.dataclass import dataclass

__all__ = [
    "BASE",
    "DSL",
    "AttributeSpec",
    "BranchForm",
    "Dialect",
    "Hooks",
    "OperationSpec",
    "PassSpec",
    "Region",
    "Replacement",
    "Rule",
    "Trace",
    "TracingHooks",
    "emit",
    "is_dynamic",
    "place",
    "place_of",
    "replacing",
]


@dataclass(frozen=True, slots=True)
class DSL:
    """A language: its name, the hooks that say what control flow means, its own operations and how they lower."""

    name: str
    hooks: Callable[[Trace], Hooks] = TracingHooks
    dialects: tuple[Dialect, ...] = ()
    passes: tuple[PassSpec, ...] = ()
    """Run on the traced module before the target's own pass list."""

    def __repr__(self) -> str:
        return f"DSL({self.name!r})"

    def load(self) -> None:
        """Make the language's operations known where this thread traces."""
        for dialect in self.dialects:
            dialect.load(context())


BASE = DSL("triptych")
