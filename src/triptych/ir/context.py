"""The MLIR context of the calling thread.

One context per thread, kept for the thread's life: a new one costs 9 to 16 ms, and sharing one between threads would
mix their diagnostics. The bindings hold the interpreter lock in every call, so a module made in one thread may be
lowered in another: code that receives a module uses `module.context`, never the thread's own.
"""

from __future__ import annotations

import threading
from typing import Any

from triptych.ir import bindings

_THREAD = threading.local()


def context() -> Any:
    """The context in which this thread builds modules, without MLIR's own thread pool."""
    found = getattr(_THREAD, "context", None)
    if found is None:
        found = bindings.mlir().Context()
        found.enable_multithreading(False)
        _THREAD.context = found
    return found
