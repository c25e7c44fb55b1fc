"""Pass `annotate-loops`: what is said of a loop reaches LLVM.

Upstream conversions carry the annotation as an attribute that the translation to LLVM IR does not look at.
"""

from __future__ import annotations

from typing import Any

from triptych.ir.modules import operations_named

CARRIED = "llvm.loop_annotation"
_TRANSLATED = "loop_annotation"


def annotate_loops(module: Any) -> None:
    """Move the attribute to its place on every branch that closes a loop."""
    for name in ("llvm.br", "llvm.cond_br"):
        for branch in operations_named(module, name):
            if CARRIED in branch.attributes:
                branch.attributes[_TRANSLATED] = branch.attributes[CARRIED]
                del branch.attributes[CARRIED]
