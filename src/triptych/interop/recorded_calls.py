"""Recorded calls of compiled functions, which the capture of a CUDA graph stores instead of running them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol


class Recorder(Protocol):
    """Takes the place of calls while it is the last of `RECORDERS`."""

    def put_off(self, call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Make a call later, as often as wanted; it gives nothing."""
        ...

    def record(self, call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What a call gives now, without what it changes; it is repeated later."""
        ...


RECORDERS: list[Recorder] = []
"""Those at work: empty is the quick answer of the call path."""
