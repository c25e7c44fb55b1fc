"""Launch shape: blocks of a grid and threads of a block, each in three dimensions.

A dimension that is a Python int is checked while tracing, a run-time one by the compiled host function.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

from triptych.diagnostics.kernel_errors import LaunchShapeError
from triptych.metastage.trace.checks import check
from triptych.metastage.trace.trace import Trace, place
from triptych.metastage.values.describing import describe
from triptych.metastage.values.scalars import Int32, Numeric

Dimensions = tuple[Any, Any, Any]


@dataclass(frozen=True, slots=True)
class LaunchShape:
    """Three dimensions of the grid and three of a block; ints, or Int32 where only the run knows."""

    grid: Dimensions
    block: Dimensions

    @classmethod
    def of(cls, trace: Trace, grid: object, block: object) -> LaunchShape:
        blocks = dimensions_of("grid", grid)
        threads = dimensions_of("block", block)
        model = trace.device_model
        of_grid = zip("xyz", blocks, model.blocks_by_dimension, strict=True)
        of_block = zip("xyz", threads, model.threads_by_dimension, strict=True)
        x, y, z = (_checked(trace, f"the grid's {x}", n, 0, most) for x, n, most in of_grid)
        i, j, k = (_checked(trace, f"the block's {x}", n, 1, most) for x, n, most in of_block)
        _check_threads(trace, (i, j, k))
        return cls((x, y, z), (i, j, k))


def static_dimensions(dimensions: Dimensions) -> tuple[int, int, int] | None:
    """The dimensions if all are known while tracing."""
    return dimensions if all(isinstance(n, int) for n in dimensions) else None


def dimensions_of(name: str, given: object) -> Dimensions:
    """One to three integers as three."""
    dimensions = list(given) if isinstance(given, list | tuple) else [given]
    for n in dimensions:
        if isinstance(n, bool) or not (isinstance(n, int) or (isinstance(n, Numeric) and n.info.is_integer)):
            raise LaunchShapeError(
                f"a dimension of the {name} is not an integer",
                span=place(),
                found=describe(n),
                expected="integers",
                instead="`//` instead of `/`" if isinstance(n, float | Numeric) else "",
            )
    if not 1 <= len(dimensions) <= 3:
        raise LaunchShapeError(
            f"a {name} has up to three dimensions",
            span=place(),
            found=f"{len(dimensions)} dimensions",
            expected=f"{name}=n, {name}=(x, y) or {name}=(x, y, z)",
        )
    x, y, z, *_ = (*dimensions, 1, 1)
    return x, y, z


_WITHIN = "a dimension of at most {}: the work of a grid is divided between blocks and threads"


def _checked(trace: Trace, what: str, n: Numeric | int, least: int, most: int) -> Any:
    """The dimension as an int or an Int32, within its bounds."""
    title = f"{what} dimension is not possible"
    facts: dict[str, Any] = {"expected": f"{least} to {most}", "instead": _WITHIN.format(most)}
    if isinstance(n, Numeric) and not n.is_dynamic:
        n = int(n)
    if isinstance(n, int):
        if not least <= n <= most:
            raise LaunchShapeError(title, span=place(), found=str(n), **facts)
        return n
    low, high = n.info.bounds
    if low < least:
        check(trace, (n >= least).ir_value(), LaunchShapeError.__name__, title, **facts)
    if high > most:
        check(trace, (n <= most).ir_value(), LaunchShapeError.__name__, title, **facts)
    return n.to(Int32)


def _check_threads(trace: Trace, block: Dimensions) -> None:
    title, instead = "a block has too many threads", "fewer threads in a block and more blocks in the grid"
    most = trace.device_model.threads
    facts: dict[str, Any] = {"expected": f"at most {most} in all", "instead": instead}
    known = prod(n for n in block if isinstance(n, int))
    if known > most:
        found = f"{' * '.join(map(str, block))} = {known}" if static_dimensions(block) else f"{known} or more"
        raise LaunchShapeError(title, span=place(), found=found, **facts)
    dynamic = [n for n in block if isinstance(n, Numeric)]
    if len(dynamic) + (known > 1) < 2:
        return
    threads: Any = known
    for n in dynamic:
        threads = n * threads
    check(trace, (threads <= most).ir_value(), LaunchShapeError.__name__, title, **facts)
