"""Object-stage, second step: `Lowered -> Compiled`, by the target's code generator."""

from __future__ import annotations

from triptych.objectstage.target import CompileOptions, Target
from triptych.stages import Compiled, Lowered


def codegen(lowered: Lowered, target: Target, options: CompileOptions) -> Compiled:
    """Generate code for a target."""
    return target.codegen(lowered, options)
