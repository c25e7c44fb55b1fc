"""`triptych layout`: a layout in the notation -> its numbers and its picture, as text, JSON, SVG or LaTeX.

A picture in the terminal answers most questions about a layout before any program is written.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from triptych.layout import (
    AnyLayout,
    BankConflicts,
    ComposedLayout,
    Layout,
    LayoutError,
    Sectors,
    bank_conflicts,
    bank_svg,
    coalesce,
    composition,
    cosize,
    draw_latex,
    draw_text,
    global_sectors,
    index_grid,
    layout_svg,
    parse,
    size,
    zipped_divide,
)
from triptych.layout.picture import fits_a_picture
from triptych.support.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class LayoutRequest:
    """What the command line asks: the operations to apply, the access to count, the files to write."""

    layout: str
    compose: str | None = None
    divide: str | None = None
    coalesce: bool = False
    access: str | None = None
    bits: int = 32
    svg: Path | None = None
    latex: Path | None = None


def show_layout(request: LayoutRequest, *, as_json: bool = False) -> str:
    """The text for the terminal; files are written on the way."""
    try:
        layout: AnyLayout = _result(request)
        access = None if request.access is None else Layout.parse(request.access)
        _write_pictures(request, layout, access)
        return _record(request, layout, access) if as_json else _text(request, layout, access)
    except LayoutError as error:
        error.span = None  # it would point at the script that started the command
        raise


def _result(request: LayoutRequest) -> Any:
    value = parse(request.layout)
    layout: Any = value if isinstance(value, Layout | ComposedLayout) else Layout.parse(request.layout)
    if request.compose is not None:
        layout = composition(layout, parse(request.compose))
    if request.divide is not None:
        layout = zipped_divide(layout, parse(request.divide))
    return coalesce(layout) if request.coalesce else layout


def _write_pictures(request: LayoutRequest, layout: AnyLayout, access: Layout | None) -> None:
    if request.svg is not None:
        picture = layout_svg(layout) if access is None else bank_svg(layout, access, request.bits)
        request.svg.write_text(f"{picture}\n", encoding="utf-8")
    if request.latex is not None:
        request.latex.write_text(f"{draw_latex(index_grid(layout))}\n", encoding="utf-8")


def _traffic(request: LayoutRequest, layout: AnyLayout, access: Layout) -> tuple[BankConflicts, Sectors]:
    return bank_conflicts(layout, access, bits=request.bits), global_sectors(layout, access, bits=request.bits)


def _text(request: LayoutRequest, layout: AnyLayout, access: Layout | None) -> str:
    lines = [str(layout), f"size {size(layout)}, cosize {cosize(layout)}"]
    if layout.is_static and fits_a_picture(layout):
        lines.append(draw_text(index_grid(layout)))
    if access is not None:
        conflicts, sectors = _traffic(request, layout, access)
        lines += [f"shared memory: {conflicts}", f"global memory: {sectors}"]
    return "\n".join(lines)


def _record(request: LayoutRequest, layout: AnyLayout, access: Layout | None) -> str:
    """Integers known later are written as in the notation."""
    record: dict[str, Any] = {"layout": str(layout), "size": _plain(size(layout)), "cosize": _plain(cosize(layout))}
    if isinstance(layout, Layout):
        record |= {"shape": _plain(layout.shape), "stride": _plain(layout.stride)}
    if layout.is_static and fits_a_picture(layout):
        record["grid"] = [[cell.label for cell in row] for row in index_grid(layout).cells]
    if access is not None:
        conflicts, sectors = _traffic(request, layout, access)
        record |= {"shared memory": asdict(conflicts), "global memory": asdict(sectors)}
    return json.dumps(record, indent=2)


def _plain(value: object) -> Any:
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value if isinstance(value, int) else str(value)
