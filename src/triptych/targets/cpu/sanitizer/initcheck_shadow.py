"""Register shadows: uninitialized elements of register tensors, followed in debug builds with `init`.

Input: a kernel as it was traced, and what may be unset in it (`uninitialized_values`). Output: the same kernel,
in which every such array has a cell for each of its elements and every such value an origin: 0, or which read found
which element unset. Where a value matters `check.unset` gets its origin. Cells and origins are ordinary arrays and
integers of the thread, so that branches, loops and lanes need no rules of their own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import asdict
from math import gcd

from triptych.ir.builder import Builder
from triptych.ir.handles import Block, Operation, Value
from triptych.ir.location import spans_of
from triptych.ir.types import byte_size, element_type, is_float, type_text
from triptych.kernel_ir.analysis.addresses import base, steps
from triptych.kernel_ir.analysis.uninitialized_registers import (
    REGISTER_BYTES,
    REGISTERS_ATTRIBUTE,
    Registers,
    accessed_bytes,
    accumulates_if,
    address_of,
    nobody_writes,
    only_products_write,
    product_bytes,
    registers_of,
    sums_of,
    unproven_reads,
)
from triptych.kernel_ir.analysis.uninitialized_values import UnsetValues, Use, unset_values
from triptych.kernel_ir.dialects.check import CHECK_UNSET
from triptych.kernel_ir.dialects.kernel_operations import (
    body,
    constant_of,
    enclosing,
    has_body,
    is_mma,
    operations,
    pointee,
)
from triptych.support.runs import runs
from triptych.targets.cpu.sanitizer.initcheck_origins import Origin, Origins, elements, joined

_UNSET = -1
_ASSIGNMENT = re.compile(r"\s*(\w+)\s*=[^=]")
_MOST_CELLS = 1 << 14
_MOST_SITES = (1 << 16) - 2
_SITE_BITS = 16
_ADDS, _READS, _MULTIPLIES = "adds to", "reads", "multiplies"

_Rooms = list[Value | None]
NoteSite = Callable[..., int]
"""`(operation, verb, size, bytes, registers)`: another row of the kernel's table; its number."""


def follow_unset_registers(kernel: Operation, builder: Builder, note: NoteSite) -> None:
    """Instrument a kernel where elements of its register tensors may be used before they are set."""
    registers = registers_of(kernel)
    unproven, certain = unproven_reads(kernel, registers)
    unread = _unwritten_factors(registers)
    sums = {array for array, each in registers.items() if only_products_write(each)}
    reported = {each for each in unproven if is_mma(each) and sums_of(each)[0] in sums}
    known = {sums_of(each)[0] for each in reported}
    unproven = {each for each in unproven - reported if each.name != "llvm.load" or base(address_of(each)) not in known}
    found = unset_values(registers, unproven, certain & unproven) if unproven else UnsetValues()
    found.arrays |= known
    if not (found.uses or reported or unread):
        return
    if any(registers[array].size > _MOST_CELLS for array in found.arrays):
        return
    _Shadows(kernel, builder, note, registers, found, reported, unread).write()


def _unwritten_factors(registers: dict[Value, Registers]) -> dict[Operation, Registers]:
    """Products with a factor in registers that nobody ever writes."""
    found = {}
    for each in registers.values():
        if nobody_writes(each):
            for access in each.accesses:
                if is_mma(access) and sums_of(access)[0] != each.array:
                    found[access] = each
    return found


def _described(found: Registers, grain: int) -> dict[str, object]:
    """A register tensor in the table of sites: what it is, where it was made, and how its cells are counted."""
    allocation = found.allocation
    spans, element = spans_of(allocation.location), byte_size(pointee(allocation))
    named = REGISTERS_ATTRIBUTE in allocation.attributes
    variable = _ASSIGNMENT.match(spans[0].text()) if spans else None
    return {
        "what": allocation.attributes[REGISTERS_ATTRIBUTE].value if named else "an array of the thread",
        "cells": found.size // grain,
        "bytes": element,
        "grain": grain,
        "span": asdict(spans[0]) if spans else None,
        "variable": variable[1] if variable else "",
    }


class _Shadows:
    """A kernel while its shadows are written."""

    def __init__(
        self,
        kernel: Operation,
        builder: Builder,
        note: NoteSite,
        registers: dict[Value, Registers],
        found: UnsetValues,
        reported: set[Operation],
        unread: dict[Operation, Registers],
    ) -> None:
        self._kernel, self._builder, self._note = kernel, builder, note
        self._registers, self._found, self._reported, self._unread = registers, found, reported, unread
        builder.location = kernel.location
        self._origins = Origins(builder)
        self._cells: dict[Value, Value] = {}
        self._grains: dict[Value, int] = {}
        self._uses: dict[Operation, list[Use]] = {}
        for use in found.uses:
            self._uses.setdefault(use.operation, []).append(use)
        self._slots: dict[Operation, _Rooms] = {}
        """Of control flow: where the origins of its results lie, and of those a `while` begins an iteration with."""
        self._begins: dict[Operation, _Rooms] = {}

    def write(self) -> None:
        program = operations(body(self._kernel))
        for array in self._found.arrays:
            self._make_cells(self._registers[array])
        self._program(program)

    # cells ------------------------------------------------------------------------------------------------------
    def _make_cells(self, found: Registers) -> None:
        """A cell of 32 bits for as many bytes as every access is a multiple of; all begin unset."""
        grain = byte_size(pointee(found.allocation))
        for access in found.accesses:
            if is_mma(access):
                grain = gcd(grain, REGISTER_BYTES)
                continue
            moved = access.operands[0].type if access.name == "llvm.store" else access.results[0].type
            grain = gcd(grain, byte_size(element_type(moved)), *(each.size for each in steps(address_of(access))[1]))
        self._grains[found.array] = grain
        self._write_behind(found.allocation)
        self._forget_contents(found.allocation)
        cells = self._cells[found.array] = self._origins.slots(found.size // grain)
        self._origins.fill(cells, found.size // grain, _UNSET)

    def _forget_contents(self, allocation: Operation) -> None:
        """Zeros, so that what a wrong kernel does next is at least the same every time."""
        element = pointee(allocation)
        count = self._registers[allocation.results[0]].size // byte_size(element)
        kind = self._builder.vector(count, element)
        zero = "0.0" if is_float(element) else "0"
        text = f"dense<{zero}> : {type_text(kind)}"
        zeros = self._builder.value("arith.constant", (), kind, {"value": self._builder.attribute(text)})
        self._origins.store(zeros, allocation.results[0])

    def _place(self, access: Operation) -> tuple[Value, Value | None, int]:
        """The cells of an array, and which of them is the first of an access: a number of a run and one known now."""
        array, found = steps(address_of(access))
        grain, known = self._grains[array], 0
        moving: Value | None = None
        for each in found:
            if isinstance(each.index, int):
                known += each.index * each.size // grain
            else:
                moving = self._origins.sum(moving, each.index, each.size // grain)
        return self._cells[array], moving, known

    # blocks -----------------------------------------------------------------------------------------------------
    def _write_before(self, operation: Operation) -> None:
        self._builder.location = operation.location
        self._builder.insertion = self._builder.before(operation)

    def _write_behind(self, operation: Operation, following: Operation | None = None) -> None:
        self._builder.location = operation.location
        if following is None:
            every = operations(operation.block)
            following = every[every.index(operation) + 1]
        self._builder.insertion = self._builder.before(following)

    def _block(self, block: Block, entry: tuple[list[Value], _Rooms] | None = None) -> None:
        """All operations of a block, which is entered with values whose origins lie in memory."""
        every = operations(block)
        if entry is not None:
            self._write_before(every[0])
            self._take(*entry)
        self._program(every)

    def _program(self, every: list[Operation]) -> None:
        for operation, following in zip(every, [*every[1:], None], strict=True):
            for use in self._uses.get(operation, ()):
                self._write_before(operation)
                self._tell(operation, use.verb, joined(self._origins, self._of(use.value)))
            if len(operation.regions):
                assert following is not None, "a terminator follows"
                self._control(operation, following)
            elif operation.name in ("scf.yield", "scf.condition"):
                self._pass(operation)
            elif operation.name in ("llvm.load", "llvm.store") or is_mma(operation):
                assert following is not None, "a terminator follows"
                self._access(operation, following)
            elif any(result in self._found.values for result in operation.results):
                assert following is not None, "a terminator follows"
                self._write_behind(operation, following)
                self._origins.compute(operation)

    def _of(self, value: Value) -> Sequence[Origin]:
        return self._origins.of(value)

    def _tell(self, operation: Operation, verb: str, origin: Origin) -> None:
        if origin is not None:
            site = self._builder.integer("i32", self._note(operation, verb, 0, 0))
            self._builder.operation(CHECK_UNSET, (origin,), attributes={"site": site})

    # accesses ---------------------------------------------------------------------------------------------------
    def _access(self, operation: Operation, following: Operation) -> None:
        if is_mma(operation):
            self._write_before(operation)
            self._product(operation)
            return
        array = steps(address_of(operation))[0]
        if array not in self._cells:
            return
        grain = self._grains[array]
        if operation.name == "llvm.store":
            self._write_before(operation)
            count, each = self._shape(operation, operation.operands[0], grain)
            origins = [origin for origin in self._of(operation.operands[0]) for _ in range(each)]
            self._origins.store_all(origins, count * each, *self._place(operation))
        elif operation.results[0] in self._found.values:
            self._write_behind(operation, following)
            count, each = self._shape(operation, operation.results[0], grain)
            cells = self._read(operation, array, count * each, _READS)
            made = [joined(self._origins, cells[i * each : (i + 1) * each]) for i in range(count)]
            self._origins.put(operation.results[0], made)

    def _shape(self, access: Operation, value: Value, grain: int) -> tuple[int, int]:
        """How many elements are moved, and how many cells each has."""
        count = elements(value)
        return count, accessed_bytes(access) // count // grain

    def _read(self, access: Operation, array: Value, count: int, verb: str) -> list[Origin]:
        """Cells of an access; those of elements that nobody has set become its own."""
        cells, moving, known = self._place(access)
        size = accessed_bytes(access)
        own = self._own(access, verb, size, array)
        return [self._origins.read(cells, moving, known + i, own) for i in range(count)]

    def _own(self, operation: Operation, verb: str, size: int, array: Value) -> int:
        """The origin of the first element that an operation may find unset."""
        number = self._note(operation, verb, size, 0, _described(self._registers[array], self._grain(array)))
        assert number < _MOST_SITES, number
        return (number + 1) << _SITE_BITS

    def _grain(self, array: Value) -> int:
        return self._grains.get(array) or byte_size(pointee(self._registers[array].allocation))

    def _product(self, product: Operation) -> None:
        """Sums keep the origins of what they are added to."""
        factor = self._unread.get(product)
        if factor is not None:
            own = self._own(product, _MULTIPLIES, 0, factor.array)
            self._tell(product, _MULTIPLIES, self._builder.constant(own, "i32"))
        source, begins = sums_of(product)
        target, places = product.operands[0], product_bytes(product, "d")
        if source not in self._cells and target not in self._cells:
            return
        adds = accumulates_if(product)
        if product in self._reported:
            self._tell_of_sums(product, source, begins, adds)
            self._set(target, places)
        elif adds is not None and constant_of(adds) is not None:
            if constant_of(adds) == 0:
                self._set(target, places)
        elif (target, places) != (source, begins) or adds is not None:
            for begin, place in zip(begins, places, strict=True):
                self._move(source, begin, target, place, adds)

    def _tell_of_sums(self, product: Operation, source: Value, begins: list[int], goes_on: Value | None) -> None:
        """A product that adds to what only products set: the first register stands for all of it."""
        own, grain = self._own(product, _ADDS, 0, source), self._grains[source]
        found: Origin = self._origins.read(self._cells[source], None, begins[0] // grain, own)
        if goes_on is not None:
            found = self._origins.chosen(goes_on, found, None)
        self._tell(product, _ADDS, found)

    def _set(self, array: Value, places: list[int]) -> None:
        if array not in self._cells:
            return
        grain = self._grains[array]
        ordered = sorted(set(places))
        for run in runs(ordered, lambda one, other: other - one, (REGISTER_BYTES,)):
            cells = run.count * REGISTER_BYTES // grain
            self._origins.store_all([None] * cells, cells, self._cells[array], None, ordered[run.first] // grain)

    def _move(self, source: Value, begin: int, target: Value, place: int, goes_on: Value | None) -> None:
        """One register from the cells of one array to those of another."""
        if target not in self._cells:
            return
        each, grain = REGISTER_BYTES // self._grains[target], self._grains[target]
        held: Sequence[Origin] = [None] * each
        if source in self._cells:
            first = begin // self._grains[source]
            many = REGISTER_BYTES // self._grains[source]
            one = joined(self._origins, [self._origins.cell(self._cells[source], None, first + i) for i in range(many)])
            held = [one if goes_on is None else self._origins.chosen(goes_on, one, None)] * each
        self._origins.store_all(held, each, self._cells[target], None, place // grain)

    # control flow -----------------------------------------------------------------------------------------------
    def _control(self, operation: Operation, following: Operation) -> None:
        """Origins of carried values lie in memory of the thread, which later passes turn into values again."""
        self._write_before(operation)
        results = self._slots[operation] = self._rooms(list(operation.results))
        entries: list[tuple[list[Value], _Rooms]] = []
        if operation.name == "scf.for":
            self._fill(results, list(operation.operands)[3:])
            entries = [(list(body(operation).arguments)[1:], results)]
        elif operation.name == "scf.while":
            first, second = (list(body(operation, region).arguments) for region in range(2))
            begins = self._begins[operation] = self._rooms(first)
            self._fill(begins, list(operation.operands))
            entries = [(first, begins), (second, results)]
        for region in range(len(operation.regions)):
            if has_body(operation, region):
                self._block(body(operation, region), *entries[region : region + 1])
        self._write_behind(operation, following)
        self._take(list(operation.results), results)

    def _rooms(self, values: list[Value]) -> _Rooms:
        """Memory for origins, made where the kernel begins: in a loop it would grow in every iteration."""
        before = self._builder.insertion
        self._builder.insertion = self._builder.before(operations(body(self._kernel))[0])
        made = [self._origins.slots(elements(value)) if value in self._found.values else None for value in values]
        self._builder.insertion = before
        return made

    def _fill(self, slots: _Rooms, values: list[Value]) -> None:
        for slot, value in zip(slots, values, strict=True):
            if slot is not None:
                self._origins.store_all(self._of(value), elements(value), slot, None, 0)

    def _take(self, values: list[Value], slots: _Rooms) -> None:
        for value, slot in zip(values, slots, strict=True):
            if slot is not None:
                self._origins.put(value, [self._origins.cell(slot, None, i) for i in range(elements(value))])

    def _pass(self, end: Operation) -> None:
        """What the end of a block hands on."""
        around = enclosing(end)
        goes_back = around.name == "scf.while" and end.name == "scf.yield"
        values = list(end.operands)[1 if end.name == "scf.condition" else 0 :]
        self._write_before(end)
        self._fill(self._begins[around] if goes_back else self._slots[around], values)
