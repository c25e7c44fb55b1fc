"""Pass `rename-memory-scopes`: scopes of atomic accesses and fences get the names that a target's LLVM has for them.

Traced modules call a scope `block`, `cluster` or `device`; without a name it is the whole system. LLVM leaves names to
its targets: to most of them an unknown one is the system, and AMD's ends the process.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from triptych.ir.builder import Builder
from triptych.ir.errors import LoweringError
from triptych.ir.handles import Module
from triptych.ir.location import place_of
from triptych.ir.modules import kernels, operations_named

_SCOPE = "syncscope"
SCOPED = frozenset({"llvm.atomicrmw", "llvm.cmpxchg", "llvm.fence", "llvm.load", "llvm.store"})
"""What may have a scope."""


def renaming_scopes(names: Mapping[str, str]) -> Callable[[Module], None]:
    """The pass for a target that has these names; a scope that it lacks is an error at the user's line."""

    def rename_memory_scopes(module: Module) -> None:
        builder = Builder(module.context)
        for kernel in kernels(module):
            for operation in operations_named(kernel, *SCOPED):
                scope = operation.attributes[_SCOPE].value if _SCOPE in operation.attributes else ""
                if scope and scope not in names:
                    raise LoweringError(
                        f"this GPU has no memory scope {scope!r}",
                        span=place_of(operation),
                        expected=f"one of {', '.join(map(repr, names))}, or the whole system",
                    )
                if scope:
                    operation.attributes[_SCOPE] = builder.string(names[scope])

    return rename_memory_scopes
