"""MLIR locations of source spans: `Locations.of` going down, `spans_of` when MLIR reports a problem.

Every operation carries where it was written and the chain of inlined calls that led there, so that an error found
late still speaks at the user's line.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from triptych.ir import bindings
from triptych.ir.handles import Context, Location, Operation
from triptych.support.source import Span


class Locations:
    """The locations of one context. Equal chains give the same object: most operations share their line."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._known: dict[tuple[Span, ...], Location] = {}

    def of(self, spans: tuple[Span, ...]) -> Location:
        """The location of a chain of spans: the construct itself first, then each caller; empty means unknown."""
        known = self._known.get(spans)
        if known is None:
            known = self._known[spans] = self._make(spans)
        return known

    def _make(self, spans: tuple[Span, ...]) -> Location:
        location = bindings.mlir().Location
        places = [self._place(span) for span in spans]
        if len(places) == 1:
            return places[0]
        made: Location = (
            location.callsite(places[0], places[1:], context=self._context)
            if places
            else location.unknown(context=self._context)
        )
        return made

    def _place(self, span: Span) -> Location:
        location = bindings.mlir().Location
        if span.end_line is None or span.end_column is None:
            place: Location = location.file(span.file, span.line, span.column + 1, context=self._context)
        else:
            place = location.file(
                *(span.file, span.line, span.column + 1, span.end_line, span.end_column + 1), context=self._context
            )
        if span.function:
            place = location.name(span.function, place, context=self._context)
        return place


def spans_of(location: Location) -> tuple[Span, ...]:
    """The spans inside a location, the innermost first; empty when MLIR does not know a place."""
    return tuple(_spans(location, ""))


def place_of(operation: Operation) -> Span | None:
    """Where the user wrote what became this operation."""
    return next(iter(spans_of(operation.location)), None)


def _spans(place: Location, function: str) -> Iterator[Span]:
    ir = bindings.mlir()
    location = _downcast(place)
    if isinstance(location, ir.FileLineColLoc):
        yield _span(location, function)
    elif isinstance(location, ir.NameLoc):
        yield from _spans(location.child_loc, location.name_str)
    elif isinstance(location, ir.CallSiteLoc):
        yield from _spans(location.callee, function)
        yield from _spans(location.caller, "")
    elif isinstance(location, ir.FusedLoc):
        for part in location.locations:
            yield from _spans(part, function)


def _span(location: Any, function: str) -> Span:  # `FileLineColLoc`
    ranged = (location.end_line, location.end_col) != (location.start_line, location.start_col)
    return Span(
        file=location.filename if isinstance(location.filename, str) else location.filename.value,
        line=location.start_line,
        column=max(0, location.start_col - 1),
        end_line=location.end_line if ranged else None,
        end_column=location.end_col - 1 if ranged else None,
        function=function,
    )


def _downcast(location: Any) -> Any:  # the classes of locations are the bindings' own
    """The location as its own class: diagnostics hand out plain `Location` objects that do not know their kind."""
    ir = bindings.mlir()
    if type(location) is ir.Location:
        for kind in (ir.FileLineColLoc, ir.NameLoc, ir.CallSiteLoc, ir.FusedLoc):
            if location.typeid == kind.static_typeid:
                return kind(location)
    return location
