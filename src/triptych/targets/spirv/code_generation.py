"""The SPIR-V target's code generator: LLVM IR to a SPIR-V module in a worker process.

What a module cannot say goes beside it: the texts of its checks, by their numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from functools import cache
from typing import Any

from triptych.ir.llvm.worker import Request, shared_pool
from triptych.objectstage.codegen import keep_files
from triptych.objectstage.target import CompileOptions, Serialized
from triptych.stages import Compiled, Lowered
from triptych.targets.spirv.passes.lower_checks import take_checks

TRIPLE = "spirv64-unknown-unknown"
CHECKS = "checks"
_SPIRV, _ASSEMBLY = "spirv", "assembly"


def codegen(lowered: Lowered, options: CompileOptions) -> Compiled:
    """Compile."""
    text, checks = take_checks(lowered.llvm)
    made = shared_pool().compile(request("object", options.opt_level), text)
    return _with_views(lowered, asdict(options), made.object, checks)


def request(part: str, opt_level: int) -> Request:
    """What LLVM is asked for. One part only: what writes a module is used up by it."""
    return Request(
        triple=TRIPLE,
        cpu="",
        features="",
        opt_level=max(1, opt_level),  # LLVM's back end does not select all that nobody has simplified
        vectorize=False,
        strength_reduction=False,  # it makes integers of few bits, which LLVM's back end gets wrong
        emit=(part,),
    )


def serialize(compiled: Compiled) -> Serialized:
    """The module, and what its checks say."""
    return Serialized({_SPIRV: compiled.artifact}, {CHECKS: compiled.views[CHECKS]()})


def deserialize(lowered: Lowered, frozen: Serialized, options: Mapping[str, Any]) -> Compiled:
    """Compiled code from what was kept of it."""
    return _with_views(lowered, options, frozen.artifacts[_SPIRV], frozen.facts[CHECKS])


def _with_views(lowered: Lowered, options: Mapping[str, Any], module: bytes, checks: Mapping[str, str]) -> Compiled:
    @cache
    def assembly() -> str:
        text, _ = take_checks(lowered.llvm)
        return shared_pool().compile(request(_ASSEMBLY, options["opt_level"]), text).assembly

    name = lowered.traced.name
    keep_files(name, options, assembly=("spvasm", lambda: assembly().encode()), binary=("spv", lambda: module))
    return Compiled(lowered, module, assembly, options, {_SPIRV: lambda: module, CHECKS: lambda: dict(checks)})
