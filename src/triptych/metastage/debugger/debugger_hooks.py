"""Debugger hooks: `breakpoint()` and the stops between statements, compiled in a build for a debugger.

In any other build `breakpoint()` stops Python where it traces, once, and says how to stop a thread instead.
"""

from __future__ import annotations

import builtins
import sys
import warnings
from collections.abc import Callable
from types import FrameType
from typing import Any

from triptych.diagnostics.runtime_errors import DeviceBreakpointError
from triptych.hooks import PythonHooks
from triptych.metastage.debugger.breakpoint_setting import break_place
from triptych.metastage.debugger.breakpoints import new_site
from triptych.metastage.debugger.debug_variables import DebugVariables
from triptych.metastage.debugger.frames import stop_frames
from triptych.metastage.trace import locations
from triptych.metastage.trace.trace import Trace
from triptych.support.config import config
from triptych.support.warnings import TriptychWarning


class StoppingHooks(PythonHooks):
    """Answers the hooks of debuggers for one trace."""

    trace: Trace

    def stop(self) -> None:
        if self.trace.kernel is not None and self.trace.instrumentation.stops:
            _emit(self.trace, sys._getframe(1), is_breakpoint=False)

    def stopping(self, function: Callable[..., Any]) -> Callable[..., Any]:
        if function is not builtins.breakpoint:
            return function
        trace = self.trace
        if trace.kernel is not None and trace.instrumentation.stops:
            return lambda *_args, **_keywords: _emit(trace, sys._getframe(1), is_breakpoint=True)
        if trace.kernel is not None and trace.instrumentation.stops is None:
            raise DeviceBreakpointError(
                "a thread of a GPU cannot stop for Python",
                span=locations.current_span(),
                found="`breakpoint()` in a kernel that is compiled for a GPU, with TRIPTYCH_DEBUG=break",
                expected="a kernel that is compiled for the CPU, whose threads can",
                instead="TRIPTYCH_TARGET=cpu in the environment, or `target='cpu'` where it is compiled",
            )
        _tell_of_tracing(trace.kernel is not None)
        return function


def _emit(trace: Trace, frame: FrameType, is_breakpoint: bool) -> None:
    """A stop of the thread: what its frames have is kept, then it may ask Python."""
    assert trace.kernel is not None
    trace.unrepeatable = trace.unrepeatable or "a stop for a debugger, which only this process knows"
    snapshot = DebugVariables.of(trace)
    snapshot.begin()
    site = new_site(trace.kernel.name, stop_frames(frame, snapshot), is_breakpoint)
    named = break_place(config().break_)
    if named is not None and named.is_at(site.here.file, site.here.line):
        site.armed.value = 1
    snapshot.stop(site.number, site.switch)


def _tell_of_tracing(in_kernel: bool) -> None:
    place = locations.current_span()
    what = "TRIPTYCH_DEBUG=break in the environment compiles it: then the thread that comes here stops, with its values"
    if not in_kernel:
        what = (
            "host code of a compiled function has no stops when it runs: stop in the Python code that calls it, or put "
        )
        what += "breakpoint() into the kernel, with TRIPTYCH_DEBUG=break"
    text = f"breakpoint() stops here once, while the function is traced and no thread runs; {what}"
    warnings.warn_explicit(
        text, TriptychWarning, place.file if place is not None else __file__, place.line if place is not None else 1
    )
