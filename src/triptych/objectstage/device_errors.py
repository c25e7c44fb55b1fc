"""Errors of targets that run kernels only: a tool is missing, an architecture lacks something, no device to run on."""

from __future__ import annotations

from triptych.support.errors import TriptychError


class MissingToolError(TriptychError, ImportError):
    """A program or library that compiling needs is not installed."""

    code = "TT0510"


class ArchitectureError(TriptychError, ValueError):
    """A kernel needs an instruction, or more of something, than the architecture has."""

    code = "TT0511"


class AssemblerError(TriptychError, RuntimeError):
    """NVIDIA's assembler refused PTX, or is too old for the architecture."""

    code = "TT0512"


class NoGpuError(TriptychError, RuntimeError):
    """A function compiled for a device was called in a process that cannot launch it."""

    code = "TT0513"


class DriverError(TriptychError, RuntimeError):
    """The driver of a device refused to load or to launch a kernel, or reports that one has failed."""

    code = "TT0514"
