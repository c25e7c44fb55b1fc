"""Meta-stage, debug builds: every access is checked to lie in its allocation, aligned as assumed and not at null."""

from __future__ import annotations

from typing import Any

from triptych.cute.memory.address_spaces import AddressSpace
from triptych.cute.memory.addresses import Addressed
from triptych.diagnostics.runtime_errors import MisalignedAccessError, NullPointerError, OutOfBoundsError
from triptych.ir.handles import Value
from triptych.kernel_ir.analysis.stack_slots import private_place
from triptych.metastage.trace.checks import check
from triptych.metastage.trace.trace import Trace
from triptych.metastage.values.scalars import Int64
from triptych.sanitizer.checkers import BOUNDS, checkers

_FROM_OUTSIDE = (AddressSpace.generic, AddressSpace.gmem)
_FIRST_ADDRESS = 4096
"""No system maps the first page, so an address below is an offset from null."""


def checks_bounds() -> bool:
    """Whether this is a debug build whose accesses are checked."""
    return BOUNDS in checkers()


def check_access(trace: Trace, pointer: Addressed, address: Value, size: int, alignment: int, what: object) -> None:
    """Check one access of `size` bytes through the pointer; in other builds nothing is emitted."""
    if not checks_bounds() or _is_known_inside(address, size):
        return
    here: Any = Int64.of(trace.value("llvm.ptrtoint", (address,), "i64"), trace.region)
    bytes_text = f"{size} byte{'s' if size > 1 else ''}"
    if pointer.memspace in _FROM_OUTSIDE:
        start = here if pointer.allocation is None else pointer.allocation.start
        exists = (start >= _FIRST_ADDRESS).ir_value()
        title = f"an access of {bytes_text} through a null pointer in {what}"
        check(trace, exists, NullPointerError.__name__, title, expected="the address of an allocation")
    if pointer.allocation is not None:
        offset = here - pointer.allocation.start
        inside = (offset >= 0) & (offset <= pointer.allocation.extent - size)
        title = f"an access of {bytes_text} lies outside the memory of {what}"
        expected = "a coordinate inside the layout, or a check such as `if cute.elem_less(coord, shape)`"
        found = _outside(pointer, pointer.allocation.extent)
        check(trace, inside.ir_value(), OutOfBoundsError.__name__, title, found=found, expected=expected)
    if alignment > 1:
        title = f"an access of {bytes_text} in {what} is not aligned as assumed"
        expected = f"an address that is a multiple of {alignment} bytes"
        aligned = (here & (alignment - 1)) == 0
        check(trace, aligned.ir_value(), MisalignedAccessError.__name__, title, expected=expected)


def _is_known_inside(address: Value, size: int) -> bool:
    """Whether an access of registers needs no check at run time; whose addresses nobody asks for stay registers."""
    found = private_place(address)
    return found is not None and found.offset >= 0 and size <= found.bytes_left


def _outside(pointer: Addressed, extent: object) -> str:
    """What was found, as far as it is known while tracing: the size of memory that is not an argument."""
    if not isinstance(extent, int):
        return ""
    elements = extent * 8 // pointer.dtype.width
    part = ", or a part that it does not have" if pointer.memspace.is_private else ""
    plural = "" if elements == 1 else "s"
    return f"an address outside the {elements} element{plural} ({extent} bytes) of that memory{part}"
