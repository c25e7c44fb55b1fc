"""Passes `check-architecture`, `check-launches`: refuse, at the user's line, what the architecture does not have.

LLVM would end its process for an instruction that it cannot select, and the driver refuses blocks that do not fit.
"""

from __future__ import annotations

from collections.abc import Callable

from triptych.ir.handles import Module, Operation
from triptych.ir.launch import LAUNCH_COMPLETION_EVENT, PROGRAMMATIC_EVENT, Launch, launches
from triptych.ir.location import place_of
from triptych.ir.modules import kernels, operations_named
from triptych.kernel_ir.dialects.kernel_operations import constant_of
from triptych.objectstage.device_errors import ArchitectureError
from triptych.targets.nvptx.description.architectures import ARCHITECTURES, Architecture
from triptych.targets.nvptx.description.instructions import INSTRUCTIONS, Instruction

CLUSTERS_SINCE = 90
"""The generation that brought clusters of blocks, and launches that overlap."""


def lacking(architecture: Architecture) -> frozenset[str]:
    """The operations that the architecture may have no instruction for."""
    return frozenset(row.operation for row in _lacking(architecture))


def checking(architecture: Architecture) -> Callable[[Module], None]:
    """The pass for one architecture."""
    rows = _lacking(architecture)

    def check_architecture(module: Module) -> None:
        for kernel in kernels(module):
            for operation in operations_named(kernel, *lacking(architecture)):
                for row in rows:
                    if row.operation == operation.name and (row.when is None or row.when(operation)):
                        raise _missing(architecture, row, operation)

    return check_architecture


def checking_launches(architecture: Architecture) -> Callable[[Module], None]:
    """Pass `check-launches` for one architecture."""

    def check_launches(module: Module) -> None:
        for launch in launches(module):
            _check_launch(architecture, launch)

    return check_launches


def _lacking(architecture: Architecture) -> list[Instruction]:
    return [row for row in INSTRUCTIONS if not _has(architecture, row)]


def _has(architecture: Architecture, row: Instruction) -> bool:
    generations = row.since <= architecture.generation <= (row.last or architecture.generation)
    return generations and (architecture.is_specific or not row.specific)


def _missing(architecture: Architecture, row: Instruction, operation: Operation) -> ArchitectureError:
    first = f"sm_{row.since}{'a' if row.specific else ''}"
    others = " or newer" if row.last is None else "" if row.last == row.since else f" to sm_{row.last}"
    return ArchitectureError(
        f"{architecture.name} has no instruction for this",
        span=place_of(operation),
        found=row.ptx or row.operation,
        expected=f"{first}{others}",
        instead=_offered(row),
    )


def _offered(row: Instruction) -> str:
    """A target that has what is missing."""
    found = next(name for name, architecture in ARCHITECTURES.items() if _has(architecture, row))
    return f"target='nvptx:{found}'"


def _check_launch(architecture: Architecture, launch: Launch) -> None:
    if launch.cluster and architecture.generation < CLUSTERS_SINCE:
        raise ArchitectureError(
            f"{architecture.name} has no clusters of blocks",
            span=place_of(launch.operation),
            expected=f"sm_{CLUSTERS_SINCE} or newer, or a launch without `cluster`",
        )
    if launch.overlapping and architecture.generation < CLUSTERS_SINCE:
        raise ArchitectureError(
            f"{architecture.name} has no programmatic dependent launch",
            span=place_of(launch.operation),
            expected=f"sm_{CLUSTERS_SINCE} or newer, or a launch without `use_pdl`",
        )
    if PROGRAMMATIC_EVENT in launch.events and architecture.generation < CLUSTERS_SINCE:
        raise ArchitectureError(
            f"{architecture.name} has no programmatic events",
            span=place_of(launch.operation),
            found=PROGRAMMATIC_EVENT,
            expected=f"sm_{CLUSTERS_SINCE} or newer, or `{LAUNCH_COMPLETION_EVENT}`",
        )
    asked = constant_of(launch.shared_bytes)  # None: the host function knows it when it runs
    if asked is not None and asked > architecture.shared_of_a_block:
        raise ArchitectureError(
            f"a block on {architecture.name} cannot have that much shared memory",
            span=place_of(launch.operation),
            found=f"{asked} bytes",
            expected=f"at most {architecture.shared_of_a_block} bytes",
        )
