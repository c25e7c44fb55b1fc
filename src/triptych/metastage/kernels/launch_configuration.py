"""Launch configuration: blocks of a grid and threads of a block, each in three dimensions, and the keywords beside
them.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any, TypedDict

from triptych.diagnostics.kernel_errors import LaunchShapeError
from triptych.ir.launch import EVENT_OPTIONS
from triptych.metastage.arguments.streams import is_event
from triptych.metastage.trace.checks import check
from triptych.metastage.trace.errors import ArgumentBindingError
from triptych.metastage.trace.trace import Trace, place
from triptych.metastage.values.aggregates import describe
from triptych.metastage.values.binding_time import is_dynamic
from triptych.metastage.values.scalars import Int32, Numeric
from triptych.support.dataclass import dataclass
from triptych.support.wording import did_you_mean

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


_HINTS = ("min_blocks_per_mp", "max_number_threads")


class LaunchKeywords(TypedDict, total=False):
    """The keywords of `.launch(...)` beside `grid` and `block`, for type checkers and editors."""

    cluster: Any
    smem: Any
    stream: Any
    cooperative: bool
    use_pdl: bool
    min_blocks_per_mp: int
    max_number_threads: Any
    programmatic_event: Any
    launch_completion_event: Any
    launch_completion_event_flags: Any
    programmatic_event_flags: Any
    programmatic_event_trigger_at_block_start: Any
    smem_merge_branch_allocs: bool
    # no result depends on the rest
    fallback_cluster: Any


_KNOWN = ("grid", "block", *LaunchKeywords.__annotations__)


@dataclass(frozen=True, slots=True)
class LaunchOptions:
    """What a launch asks for besides threads."""

    cluster: tuple[int, int, int]
    smem: Any
    """Bytes of shared memory; None: as many as the kernel allocates."""
    stream: Any
    """None: the one of the call."""
    smem_merge_branch_allocs: bool
    """Whether the sides of a branch that a block takes one of have the same shared memory."""
    cooperative: bool
    use_pdl: Any
    """A Boolean, of Python or of the run: whether the kernel may begin before the one in front of it has ended
    (programmatic dependent launch)."""
    events: dict[str, tuple[Any, ...]]
    """The events that the launch is to record, each with its options."""
    hints: dict[str, int]
    """For the code generator of a GPU: kept with the kernel."""

    @classmethod
    def of(cls, name: str, keywords: Mapping[str, Any]) -> LaunchOptions:
        for keyword in keywords:
            if keyword not in _KNOWN:
                raise _unknown(name, keyword)
        events = {
            event: (keywords[event], *(keywords.get(f"{event}_{option}", 0) for option in options))
            for event, options in EVENT_OPTIONS.items()
            if keywords.get(event) is not None
        }
        for keyword, given in events.items():
            _check_event(keyword, *given)
        hints = {hint: _hint(hint, keywords[hint]) for hint in _HINTS if keywords.get(hint)}
        return cls(
            cluster=_cluster(keywords.get("cluster")),
            smem=keywords.get("smem"),
            stream=keywords.get("stream"),
            smem_merge_branch_allocs=bool(keywords.get("smem_merge_branch_allocs", False)),
            cooperative=bool(keywords.get("cooperative", False)),
            use_pdl=given if is_dynamic(given := keywords.get("use_pdl", False)) else bool(given),
            events=events,
            hints=hints,
        )


def _check_event(keyword: str, event: object, *options: object) -> None:
    if not is_event(event):
        raise ArgumentBindingError(
            f"{keyword} is not an event",
            span=place(),
            found=describe(event),
            expected="None, an event of CUDA's bindings or of torch, or its handle",
        )
    for name, value in zip(EVENT_OPTIONS[keyword], options, strict=True):
        if not (isinstance(value, int) or (isinstance(value, Numeric) and not value.is_float)):
            raise ArgumentBindingError(
                f"{keyword}_{name} is not an integer", span=place(), found=describe(value), expected="0, or flags"
            )


def _cluster(given: object) -> tuple[int, int, int]:
    if given is None:
        return 1, 1, 1
    known = static_dimensions(dimensions_of("cluster", given))
    if known is None or min(known) < 1:
        raise LaunchShapeError(
            "a cluster has a fixed size", span=place(), found=describe(given), expected="positive Python ints"
        )
    return known


def _unknown(name: str, keyword: str) -> ArgumentBindingError:
    return ArgumentBindingError(
        f"a launch has no keyword {keyword!r}",
        span=place(),
        found=f"{name}(...).launch({keyword}=...)",
        expected=f"some of {', '.join(_KNOWN)}",
        instead=did_you_mean(keyword, _KNOWN),
    )


def _hint(name: str, value: object) -> int:
    if isinstance(value, list | tuple):
        value = value[0] * value[1] * value[2] if len(value) == 3 else value
    if not isinstance(value, int):
        raise ArgumentBindingError(
            f"{name} is decided while tracing", span=place(), found=describe(value), expected="a Python int"
        )
    return value
