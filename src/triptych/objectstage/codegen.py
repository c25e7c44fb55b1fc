"""Code generation, the second step of the object-stage: `Lowered -> Compiled`, by the target's code generator."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from triptych.objectstage.host_program import HOST_CHECKS
from triptych.objectstage.lower import lower
from triptych.objectstage.target import CompileOptions, Target, host_target
from triptych.stages import Compiled, Lowered, Traced


def codegen(lowered: Lowered, target: Target, options: CompileOptions) -> Compiled:
    """Generate code for a target, and for the host of a target that runs kernels only when it is needed."""
    compiled, host = target.codegen(lowered, options), lowered.host
    if host is None:
        return compiled
    return replace(compiled, host=cache(lambda: _compile_host(host, CompileOptions(options.opt_level))))


def _compile_host(host: Traced, options: CompileOptions) -> Compiled:
    target = host_target()
    return codegen(lower(host, target, HOST_CHECKS, options=options), target, options)
