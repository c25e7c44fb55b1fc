"""Breakpoint sites of compiled kernels, as this process knows them: their frames, and how each name is shown.

Such programs are not kept for other processes, so a place is a number of this table, and code asks a byte of its own
whether to stop there.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from triptych.metastage.debugger.frame_values import Shown
from triptych.support.source import Span


@dataclass(frozen=True, slots=True)
class StopFrame:
    """A function of the kernel where it stands at a stop."""

    function: str
    span: Span
    """The statement that is about to run."""
    first_line: int
    last_line: int
    globals: dict[str, Any]
    names: Mapping[str, Shown]

    @property
    def file(self) -> str:
        return self.span.file

    @property
    def line(self) -> int:
        return self.span.line


@dataclass(frozen=True, slots=True, eq=False)
class StopSite:
    """A place; the outermost function, the kernel itself, is the first frame."""

    number: int
    kernel: str
    frames: tuple[StopFrame, ...]
    is_breakpoint: bool
    armed: ctypes.c_uint8 = field(default_factory=ctypes.c_uint8)
    """Whether threads that come here ask Python."""

    @property
    def here(self) -> StopFrame:
        """The innermost frame."""
        return self.frames[-1]

    @property
    def switch(self) -> int:
        """The address of the byte that code reads."""
        return ctypes.addressof(self.armed)


SITES: list[StopSite] = []


def new_site(kernel: str, frames: tuple[StopFrame, ...], is_breakpoint: bool) -> StopSite:
    """Another place; a breakpoint asks always."""
    site = StopSite(len(SITES), kernel, frames, is_breakpoint)
    site.armed.value = int(is_breakpoint)
    SITES.append(site)
    return site
