"""Launch options: the keywords beside the shape."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypedDict

from triptych.diagnostics.kernel_errors import LaunchShapeError
from triptych.ir.launch import EVENT_OPTIONS
from triptych.metastage.arguments.events import is_event
from triptych.metastage.kernels.launch_shape import dimensions_of, static_dimensions
from triptych.metastage.trace.errors import ArgumentBindingError
from triptych.metastage.trace.trace import place
from triptych.metastage.values.describing import describe
from triptych.metastage.values.scalars import Numeric
from triptych.support.nearest import did_you_mean

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
    # no result depends on the rest
    fallback_cluster: Any
    smem_merge_branch_allocs: Any


_KNOWN = ("grid", "block", *LaunchKeywords.__annotations__)


@dataclass(frozen=True, slots=True)
class LaunchOptions:
    """What a launch asks for besides threads."""

    cluster: tuple[int, int, int]
    smem: Any
    """Bytes of shared memory; None: as many as the kernel allocates."""
    stream: Any
    """None: the one of the call."""
    cooperative: bool
    use_pdl: bool
    """Whether the kernel may begin before the one in front of it has ended (programmatic dependent launch)."""
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
            cooperative=bool(keywords.get("cooperative", False)),
            use_pdl=bool(keywords.get("use_pdl", False)),
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
