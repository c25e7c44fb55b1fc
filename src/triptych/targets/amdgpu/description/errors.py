"""Errors of compiling for AMD GPUs: a chip lacks something, no GPU to run on, the runtime refuses."""

from __future__ import annotations

from triptych.support.errors import TriptychError


class ChipError(TriptychError, ValueError):
    """A kernel needs an instruction, or more of something, than AMD's chip has."""

    code = "TT0517"


class NoAmdGpuError(TriptychError, RuntimeError):
    """A function compiled for an AMD GPU was called in a process that cannot launch it."""

    code = "TT0519"


class HipError(TriptychError, RuntimeError):
    """AMD's runtime refused to load or to launch a kernel, or reports that one has failed."""

    code = "TT0520"
