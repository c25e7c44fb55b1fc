"""How much shared memory a launch provides: what the kernel allocated while it was traced, or more if asked for."""

from __future__ import annotations

from typing import Any

from triptych.diagnostics.kernel_errors import LaunchShapeError
from triptych.metastage.trace.checks import check
from triptych.metastage.trace.trace import KernelBody, Trace, place
from triptych.metastage.trace.user_warnings import warn_here
from triptych.metastage.values.describing import describe
from triptych.metastage.values.scalars import Int32, Numeric

_INSTEAD = "`smem=None`, which provides what the kernel allocates"
_TITLE = "a block cannot have that much shared memory"


def launch_bytes(trace: Trace, kernel: KernelBody, asked: object) -> Any:
    """An int or an Int32."""
    needed, most = kernel.shared_bytes, trace.device_model.shared_bytes
    if needed > most:
        raise _too_much(kernel, most)
    if asked is None:
        return needed
    if isinstance(asked, Numeric) and asked.is_dynamic and asked.info.is_integer:
        holds = (asked >= needed) & (asked <= most)
        expected = f"{needed} to {most} bytes"
        check(trace, holds.ir_value(), LaunchShapeError.__name__, _TITLE, expected=expected, instead=_INSTEAD)
        return asked.to(Int32)
    if isinstance(asked, bool) or not isinstance(asked, int | Numeric):
        raise LaunchShapeError(
            "the bytes of shared memory are not an integer",
            span=place(),
            found=describe(asked),
            expected="smem=bytes",
            instead=_INSTEAD,
        )
    if not 0 <= int(asked) <= most:
        expected = f"0 to {most} bytes"
        raise LaunchShapeError(_TITLE, span=place(), found=f"smem={int(asked)}", expected=expected, instead=_INSTEAD)
    if int(asked) < needed:
        warn_here(f"smem={int(asked)} is less than the {needed} bytes that {kernel.name} allocates: it gets {needed}")
    return max(int(asked), needed)


def _too_much(kernel: KernelBody, most: int) -> LaunchShapeError:
    return LaunchShapeError(
        f"the kernel {kernel.name} allocates more shared memory than a block has",
        span=place(),
        found=f"{kernel.shared_bytes} bytes",
        expected=f"at most {most} bytes",
        instead="smaller tiles, fewer stages, or a narrower element type",
        related=[(f"{part.size} bytes: {part.what}", part.span) for part in kernel.shared if part.span is not None],
    )
