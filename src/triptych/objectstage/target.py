"""Target protocol: its pass list, how it generates code, how it loads it; and finding a target by name.

The base imports no target. Names resolve through the entry points of the group `triptych.targets`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from triptych.interop.dlpack import GPU_DEVICES
from triptych.kernel_ir.dialects.kernel_attributes import is_order
from triptych.objectstage.errors import UnknownOptionError, UnknownTargetError
from triptych.objectstage.exports import Export
from triptych.stages import Compiled, Loaded, Lowered, PassSpec
from triptych.support.dataclass import dataclass
from triptych.support.device_model import COMMON, DeviceModel
from triptych.support.registry import Registry, UnknownPluginError
from triptych.support.wording import did_you_mean


@dataclass(frozen=True, slots=True)
class CompileOptions:
    """What the user may choose about code generation."""

    opt_level: int = 3
    line_info: bool = False
    """Debuggers and profilers of a GPU can tell the line of an instruction."""
    keep_assembly: bool = False
    keep_binary: bool = False
    """What a GPU is given is also written to files, as text or as it is loaded."""
    ptxas_options: str = ""
    """Further words for NVIDIA's assembler. On the CPU none of the four changes anything."""
    contract: bool | None = None
    """Whether a product and a sum may be rounded once, in all functions; None leaves it to each of them."""

    async_order: str = "early"
    """When copies and products that go on by themselves are done on the CPU: early, late or seed:<n>."""

    def __post_init__(self) -> None:
        if not is_order(self.async_order):
            raise UnknownOptionError(
                "async has no usable value", found=repr(self.async_order), expected="'early', 'late' or 'seed:<n>'"
            )
        if type(self.opt_level) is not int or not 0 <= self.opt_level <= 3:
            raise UnknownOptionError(
                "opt_level has no usable value", found=repr(self.opt_level), expected="0, 1, 2 or 3"
            )
        if self.contract not in (True, False, None) or type(self.contract) is int:
            raise UnknownOptionError(
                "contract has no usable value", found=repr(self.contract), expected="True, False or None"
            )

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> CompileOptions:
        """Options given by name; an unknown name is refused."""
        known = [field.name for field in dataclasses.fields(cls)]
        for name in options:
            if name not in known:
                raise UnknownOptionError(
                    f"there is no compile option {name!r}",
                    expected=f"one of {', '.join(known)}",
                    instead=did_you_mean(name, known),
                )
        return cls(**options)


@dataclass(frozen=True, slots=True)
class Serialized:
    """What of compiled code is kept for other processes."""

    artifacts: Mapping[str, bytes]
    """By name, each as the tool that made it wrote it."""
    facts: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """Small, as JSON has them."""


class Deserialize(Protocol):
    """Makes compiled code of what `Target.serialize` gave; `again` compiles, for forms that were not kept."""

    def __call__(
        self,
        lowered: Lowered,
        frozen: Serialized,
        options: Mapping[str, Any],
        again: Callable[[], Compiled],
    ) -> Compiled: ...


@dataclass(frozen=True, slots=True)
class Target:
    """A machine to compile for."""

    name: str
    pipeline: Callable[[], tuple[PassSpec, ...]]
    """From the traced module to the LLVM dialect with a packed entry point. Asked for when something is compiled: a
    process that finds its programs in the store never imports the passes."""
    entry_symbol: Callable[[str], str]
    """The symbol that the last pass exports for a function of that name."""
    codegen: Callable[[Lowered, CompileOptions], Compiled]
    load: Callable[[Compiled], Loaded]
    start: Callable[[], None]
    """Begin, without waiting, what can run while Python still traces."""
    info: Callable[[], Mapping[str, str]]
    """What else decides the generated code: the machine and the versions of the tools."""
    serialize: Callable[[Compiled], Serialized] | None = None
    """What of compiled code is kept; None for a target whose code is not kept."""
    deserialize: Deserialize | None = None
    """Compiled code from what was kept of it; KeyError where something is missing."""
    before_split: Callable[[], tuple[PassSpec, ...]] | None = None
    """What runs before the pipeline on launches and kernels together, for a target that runs kernels only: its pipeline
    sees no host function, which `host_target` compiles. None for a target that runs both."""
    devices: tuple[int, ...] = GPU_DEVICES
    """Where tensors of its kernels may be, as DLPack numbers kinds of memory; asked if it runs kernels only."""
    device_model: DeviceModel = COMMON
    """The lanes of its warps and its limits, which programs see while they are traced."""
    export: Callable[[Compiled, Export], Mapping[str, bytes]] | None = None
    """Contents of files that other programs link, by their suffix; None for a target whose code needs this process."""
    line_tables: Callable[[], tuple[PassSpec, ...]] = tuple
    """What runs after the pipeline when the user asks for the Python lines of instructions."""
    stops: bool = False
    """Whether threads of its kernels can stop for a debugger."""
    checks: bool = False
    """Whether its kernels run under the checkers of the setting `debug`."""
    portable: Target | None = None
    """The same for all machines of a kind: host functions of kernels that another machine may launch."""


@dataclass(frozen=True, slots=True)
class TargetFamily:
    """Targets that differ in their architecture, which stands after a colon: `nvptx:sm_90a`."""

    name: str
    architectures: tuple[str, ...]
    member: Callable[[str], Target]
    """The target of one of these architectures."""
    usual: Target | None = None
    """The target of the name without an architecture, if it is one."""


TARGETS: Registry[Target | TargetFamily] = Registry(
    "triptych.targets",
    builtin={
        "amdgpu": "triptych.targets.amdgpu:TARGET",
        "cpu": "triptych.targets.cpu:TARGET",
        "nvptx": "triptych.targets.nvptx:TARGET",
        "spirv": "triptych.targets.spirv:TARGET",
    },
)


_HOST = "cpu"


def find_target(name: str) -> Target:
    """The target of that name, loaded on first use."""
    plugin, colon, architecture = name.partition(":")
    try:
        found = TARGETS.get(plugin)
    except UnknownPluginError as error:
        if error.__cause__ is not None:
            raise
        raise UnknownTargetError(
            f"there is no target {plugin!r}", expected=error.expected, instead=error.instead
        ) from None
    if isinstance(found, TargetFamily):
        return _member(found, architecture)
    if colon:
        raise UnknownTargetError(f"the target {plugin!r} has no architectures", found=repr(name), expected=repr(plugin))
    return found


def host_target() -> Target:
    """The target that compiles the host functions of others."""
    found = find_target(_HOST)
    return found.portable or found


def _member(family: TargetFamily, architecture: str) -> Target:
    if family.usual is not None and not architecture:
        return family.usual
    if architecture not in family.architectures:
        nearest = did_you_mean(architecture, family.architectures)
        raise UnknownTargetError(
            f"the target {family.name!r} has no architecture {architecture!r}"
            if architecture
            else f"the target {family.name!r} needs an architecture",
            expected=f"one of {', '.join(family.architectures)}",
            instead=nearest or f"target='{family.name}:{family.architectures[0]}'",
        )
    return family.member(architecture)
