"""Device intrinsics, inside kernels: thread indices, barriers, shuffles, votes, atomics, clocks."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Any

from triptych.cute.arch import (
    accesses,
    async_copies,
    atomics,
    barriers,
    execution,
    indices,
    launch_control,
    mbarriers,
    numbers,
    shared,
    tensor_memory,
    warp,
)
from triptych.cute.arch.accesses import *
from triptych.cute.arch.async_copies import *
from triptych.cute.arch.atomics import *
from triptych.cute.arch.barriers import *
from triptych.cute.arch.execution import *
from triptych.cute.arch.indices import *
from triptych.cute.arch.launch_control import *
from triptych.cute.arch.mbarriers import *
from triptych.cute.arch.numbers import *
from triptych.cute.arch.shared import *
from triptych.cute.arch.tensor_memory import *
from triptych.cute.arch.warp import *
from triptych.cute.tracing.device import device_model
from triptych.diagnostics.likely_mistakes import missing_name
from triptych.metastage.trace.trace import active
from triptych.support.device_model import COUNTED_WHEN_IMPORTED
from triptych.support.forking import import_late
from triptych.support.source import Span

if TYPE_CHECKING:
    from triptych.cute.arch.architectures import Arch
    from triptych.frontends.ptx.inline import inline_ptx, lop3, prmt

WARP_SIZE: int
"""Threads of a warp: of the target, in code that is being traced for one; 32 otherwise."""
FULL_MASK: int
"""A mask with a bit for each of them."""

__all__ = ["FULL_MASK", "WARP_SIZE", "Arch", "inline_ptx", "lop3", "mbarrier_init_arrive_cnt"]
__all__ += ["mbarrier_init_tx_bytes", "prmt"]
__all__ += accesses.__all__
__all__ += async_copies.__all__
__all__ += atomics.__all__
__all__ += barriers.__all__
__all__ += execution.__all__
__all__ += indices.__all__
__all__ += launch_control.__all__
__all__ += mbarriers.__all__
__all__ += numbers.__all__
__all__ += shared.__all__
__all__ += tensor_memory.__all__
__all__ += warp.__all__


_FORMERLY = {"mbarrier_init_arrive_cnt": "mbarrier_init", "mbarrier_init_tx_bytes": "mbarrier_arrive_and_expect_tx"}
"""Names that older programs use, and what they are called now."""

_LATE = {
    "Arch": "triptych.cute.arch.architectures",
    "inline_ptx": "triptych.frontends.ptx.inline",
    "lop3": "triptych.frontends.ptx.inline",
    "prmt": "triptych.frontends.ptx.inline",
}
"""Names that few programs use, or that a front end on top of this package has."""
_OF_THE_TARGET: dict[str, Callable[[], int]] = {
    "WARP_SIZE": lambda: device_model().lanes,
    "FULL_MASK": lambda: device_model().all_lanes,
}


def _note_import(asking: FrameType) -> None:
    """Remember a module that asks while it is imported: it does not know yet what its kernels are compiled for."""
    if asking.f_code.co_name == "<module>" and active() is None:
        place = Span(asking.f_code.co_filename, asking.f_lineno, 0)
        COUNTED_WHEN_IMPORTED.setdefault(asking.f_globals.get("__name__", ""), place)


if not TYPE_CHECKING:  # which would take every name for one of the module's

    def __getattr__(name: str) -> Any:
        if name in _FORMERLY:
            return globals()[_FORMERLY[name]]
        if name in _LATE:
            return globals().setdefault(name, getattr(import_late(_LATE[name]), name))
        if name in _OF_THE_TARGET:
            _note_import(sys._getframe(1))
            return _OF_THE_TARGET[name]()
        raise missing_name(__name__, name, __all__)


def __dir__() -> list[str]:
    return __all__
