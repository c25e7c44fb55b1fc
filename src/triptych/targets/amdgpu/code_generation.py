"""The AMD target's code generator: LLVM IR to an object in a worker process, linked to a code object here."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict
from functools import cache
from typing import Any

from triptych.ir.errors import CodegenError
from triptych.ir.llvm.worker import Request, shared_pool
from triptych.objectstage.codegen import keep_files
from triptych.objectstage.target import CompileOptions, Serialized
from triptych.stages import Compiled, Lowered
from triptych.targets.amdgpu.analysis.waits import unproven_reads
from triptych.targets.amdgpu.code_object.linker import link
from triptych.targets.amdgpu.code_object.metadata import kernels_of
from triptych.targets.amdgpu.code_object.resources import occupancy, resources_of
from triptych.targets.amdgpu.description.chips import Chip
from triptych.targets.amdgpu.description.instructions import may_call
from triptych.targets.amdgpu.description.matrix_instructions import may_multiply

TRIPLE = "amdgcn-amd-amdhsa"
_DECLARED = re.compile(r"^declare [^@]*@([\w.]+)\(", re.MULTILINE)
_OURS = "llvm.amdgcn."
_ASSEMBLY, _CODE = "asm", "hsaco"


def codegen(lowered: Lowered, options: CompileOptions, chip: Chip) -> Compiled:
    """Compile and link."""
    check_names(lowered.llvm, chip)
    made = shared_pool().submit(_request(options, chip), lowered.llvm).result()
    _prove_waits(made.assembly)
    return _compiled(lowered, asdict(options), chip, made.assembly, link(made.object))


def _prove_waits(assembly: str) -> None:
    """Code that reads what a copy may not have written yet is not given out, whoever has moved its wait."""
    for read in unproven_reads(assembly):
        raise CodegenError(
            f"a read of LDS in {read.kernel} is not proven to be behind its wait",
            found=f"line {read.line} of the assembly: {read.instruction}",
            expected=f"at most {read.left} groups of copies under way",
        )


def _request(options: CompileOptions, chip: Chip) -> Request:
    return Request(
        triple=TRIPLE,
        cpu=chip.name,
        features="",
        opt_level=options.opt_level,
        vectorize=False,  # threads are the lanes
        emit=("assembly", "object"),
        comments=True,  # which say how many waves a SIMD holds, and where groups of copies end
    )


def check_names(text: str, chip: Chip) -> None:
    """LLVM makes calls of intrinsics that it does not know, and ends its process for those that a chip lacks."""
    for name in _DECLARED.findall(text):
        if name.startswith(_OURS) and not may_call(name, chip) and not may_multiply(name, chip):
            raise CodegenError(f"{chip.name} has no instruction for an intrinsic", found=name)


def serialize(compiled: Compiled) -> Serialized:
    """The assembly and the code object, which says all else itself."""
    return Serialized({_ASSEMBLY: compiled.assembly.encode(), _CODE: compiled.artifact})


def deserialize(lowered: Lowered, frozen: Serialized, options: Mapping[str, Any], chip: Chip) -> Compiled:
    """Compiled code from what was kept of it."""
    return _compiled(lowered, options, chip, frozen.artifacts[_ASSEMBLY].decode(), frozen.artifacts[_CODE])


def _compiled(lowered: Lowered, options: Mapping[str, Any], chip: Chip, assembly: str, code: bytes) -> Compiled:
    name = f"{lowered.traced.name}.{chip.name}"
    keep_files(name, options, assembly=("s", assembly.encode), binary=("hsaco", lambda: code))
    views: dict[str, Any] = {
        _ASSEMBLY: lambda: assembly,
        _CODE: lambda: code,
        "resources": cache(lambda: resources_of(code, chip)),
        "usage": cache(lambda: _usage(code, chip)),
    }
    return Compiled(lowered, code, views[_ASSEMBLY], options, views)


def _usage(code: bytes, chip: Chip) -> dict[str, int]:
    """How many waves of each kernel a SIMD holds, for the largest block that it is compiled for."""
    found = resources_of(code, chip)
    return {name: occupancy(found[name], chip, kernel.threads) for name, kernel in kernels_of(code).items()}
