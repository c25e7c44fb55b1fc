"""Meta-stage, parts of threads: a block with fewer threads than a tiling has leaves parts that nobody takes."""

from __future__ import annotations

import math

from triptych.metastage.kernels.launch_shape import static_dimensions
from triptych.metastage.trace.trace import active
from triptych.metastage.trace.user_warnings import warn_here
from triptych.metastage.values.truth import is_dynamic


def warn_of_missing_threads(what: str, wanted: object, thread: object) -> None:
    """Warn when a thread of a block takes its part of something made for more threads than the block has."""
    trace = active()
    if trace is None or trace.kernel is None or not isinstance(wanted, int) or not is_dynamic(thread):
        return
    block = static_dimensions(trace.kernel.block)
    if block is not None and math.prod(block) < wanted:
        given = math.prod(block)
        warn_here(
            f"{what} has parts for {wanted} threads, and the block has {given}: nobody takes the other parts; "
            f"write: a block of {wanted} threads, or a tiling for {given}"
        )
