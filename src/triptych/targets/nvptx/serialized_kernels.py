"""Serialized kernels in the store, and as a process has them that did not compile them.

Nothing here needs a compiler or an assembler; what the first compilation warned of is warned of again.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from triptych.objectstage.codegen import keep_files
from triptych.objectstage.target import Serialized
from triptych.stages import Compiled, Lowered
from triptych.support.dataclass import dataclass
from triptych.support.forking import import_late
from triptych.targets.nvptx.description.architectures import Architecture
from triptych.targets.nvptx.report.usage import Usage, usage_facts, usage_from, warn_of_slow_code

_PTX, _CUBIN = "ptx", "cubin"
_USAGE = "usage"


@dataclass(frozen=True, slots=True)
class Code:
    """The kernels of one program for one architecture."""

    ptx: str
    cubin: bytes
    usage: Mapping[str, Usage]


def serialize(compiled: Compiled) -> Serialized:
    """PTX and cubin, and what the kernels take of the GPU."""
    views = compiled.views
    artifacts = {_PTX: views["ptx"]().encode(), _CUBIN: compiled.artifact}
    return Serialized(artifacts, {_USAGE: usage_facts(views["usage"]())})


def deserialize(
    lowered: Lowered, frozen: Serialized, options: Mapping[str, Any], architecture: Architecture
) -> Compiled:
    """Compiled code from what was kept of it."""
    code = Code(frozen.artifacts[_PTX].decode(), frozen.artifacts[_CUBIN], usage_from(frozen.facts[_USAGE]))
    return with_views(lowered, architecture, options, code)


def with_views(lowered: Lowered, architecture: Architecture, options: Mapping[str, Any], code: Code) -> Compiled:
    """Compiled code that can be looked at, as PTX, as SASS and as a table of resources; warns where it is slow."""
    warn_of_slow_code(code.usage)
    name = f"{lowered.traced.name}.{architecture.name}"
    keep_files(name, options, assembly=("ptx", code.ptx.encode), binary=("cubin", lambda: code.cubin))
    views: dict[str, Any] = {
        "ptx": lambda: code.ptx,
        "cubin": lambda: code.cubin,
        "sass": cache(lambda: import_late("triptych.targets.nvptx.toolchain.programs").disassemble(code.cubin)),
        "resources": lambda: {name: usage.resources for name, usage in code.usage.items()},
        "usage": lambda: code.usage,
    }
    return Compiled(lowered, code.cubin, views["ptx"], options, views)
