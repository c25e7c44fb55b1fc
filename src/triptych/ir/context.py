"""MLIR context of the calling thread.

One context per thread, kept for the thread's life: a new one costs 9 to 16 ms, and sharing one between threads would
mix their diagnostics. The bindings hold the interpreter lock in every call, so a module made in one thread may be
lowered in another: code that receives a module uses `module.context`, never the thread's own.
"""

from __future__ import annotations

import threading

from triptych.ir import bindings
from triptych.ir.handles import Context

_THREAD = threading.local()


def context() -> Context:
    """The context in which this thread builds modules, without MLIR's own thread pool."""
    found: Context | None = getattr(_THREAD, "context", None)
    if found is None:
        found = _THREAD.context = _new()
    return found


def _new() -> Context:
    made: Context = bindings.mlir().Context()
    made.enable_multithreading(False)
    return made
