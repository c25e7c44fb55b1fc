"""Occupancy report: what each kernel takes of a GPU, how many of its blocks fit, which accesses are too narrow.

Input: the traced kernels and the assembler's report. Output: one `Usage` for each kernel.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from triptych.ir.handles import Module, Operation
from triptych.ir.launch import launches
from triptych.ir.location import place_of
from triptych.ir.modules import kernels, operations_named
from triptych.ir.types import GLOBAL_SPACE, bits_of, memory_space
from triptych.kernel_ir.analysis.addresses import Address, AddressForms
from triptych.kernel_ir.dialects.kernel_operations import constant_of, known_block
from triptych.support.dataclass import dataclass
from triptych.support.runs import runs
from triptych.support.source import Span
from triptych.targets.nvptx.description.architectures import ARCHITECTURES
from triptych.targets.nvptx.report.resources import Resources, occupancy
from triptych.targets.nvptx.report.usage import Narrow, Usage

# Accesses to global memory that are narrower than they could be, each with its line and the reason.
#
# A GPU moves 16 bytes of a thread in one instruction. Where one line of a program moves neighbours one by one,
# something kept them apart: every one has a condition of its own, other accesses stand between them, their distance is
# known only at run time, or nobody said that the first is at a multiple of 16 bytes. Elements that are not neighbours
# are no news: the threads beside this one have the elements between.

_ASKED = "triptych.bits"
"""How many bits a copy says that it moves at once."""
_WIDEST = 128
_CONDITION = "each has a condition of its own"
_BETWEEN = "other accesses, which may be to the same place, stand between them"
_DISTANCE = "their distance is known only at run time (a dynamic stride)"
_APART = "they are not next to each other"


@dataclass(frozen=True, slots=True)
class _Access:
    number: int
    """Its place among all accesses of the kernel."""
    operation: Operation
    what: str
    bits: int
    address: Address

    @property
    def asked(self) -> int:
        attributes = self.operation.attributes
        return int(attributes[_ASKED].value) if _ASKED in attributes else 0


def narrow_accesses(kernel: Operation) -> tuple[Narrow, ...]:
    """The lines of a kernel that move several elements of one tensor with more instructions than they need."""
    everything = list(_accesses(kernel))
    lines: dict[object, list[_Access]] = defaultdict(list)
    for access in everything:
        if access.bits < _WIDEST and access.bits.bit_count() == 1:  # no instruction moves three bytes
            lines[access.operation.location.attr, access.what, access.address.memory, access.bits].append(access)
    found = (_narrow(together, everything) for together in lines.values() if len(together) > 1)
    return tuple(narrow for narrow in found if narrow is not None)


def _accesses(kernel: Operation) -> Iterator[_Access]:
    forms, number = AddressForms(), 0
    for operation in operations_named(kernel, "llvm.load", "llvm.store"):
        loads = operation.name == "llvm.load"
        pointer = operation.operands[0 if loads else 1]
        if memory_space(pointer.type) == GLOBAL_SPACE:
            value = operation.results[0] if loads else operation.operands[0]
            what, bits = ("loads" if loads else "stores"), bits_of(value.type)
            yield _Access(number, operation, what, bits, forms.address(pointer))
            number += 1


def _narrow(together: Sequence[_Access], everything: Sequence[_Access]) -> Narrow | None:
    """What is wrong with accesses of one line, to one tensor, of one width."""
    first = together[0]
    neighbours = [run for run in _runs(together) if len(run) > 1]
    parted = [(run, why) for run in neighbours if (why := _kept_apart(run, everything))]
    is_less_than_asked = first.asked > first.bits
    if parted:
        run, why = parted[0]
        number = sum(len(run) for run, _ in parted)
        certain = is_less_than_asked or why != _CONDITION
        return Narrow(place_of(first.operation), number, first.what, first.bits, _possible(run), why, certain)
    is_dynamic = len({access.address.terms for access in together}) > 1
    if neighbours or not (is_dynamic or is_less_than_asked):
        return None
    why, wanted = (_DISTANCE if is_dynamic else _APART), first.asked or _WIDEST
    return Narrow(
        place_of(first.operation), len(together), first.what, first.bits, wanted, why, certain=is_less_than_asked
    )


def _runs(together: Sequence[_Access]) -> Iterator[list[_Access]]:
    """Stretches of neighbours, in the order of memory."""
    alike: dict[object, list[_Access]] = defaultdict(list)
    for access in together:
        alike[access.address.terms].append(access)
    for accesses in alike.values():
        by_place = {access.address.known: access for access in accesses}
        places = sorted(by_place)
        for run in runs(places, lambda place, other: other - place, (accesses[0].bits // 8,)):
            yield [by_place[place] for place in places[run.first : run.first + run.count]]


def _kept_apart(run: Sequence[_Access], everything: Sequence[_Access]) -> str:
    """Why neighbours do not move together; nothing where the code generator joins them."""
    if len({access.operation.block for access in run}) > 1:
        return _CONDITION
    if _are_parted(run, everything):
        return _BETWEEN
    certain = run[0].operation.attributes["alignment"].value
    if certain * 8 < _possible(run):
        return f"the address is only known to be a multiple of {certain} bytes (assumed_align, divisibility)"
    return ""


def _are_parted(run: Sequence[_Access], everything: Sequence[_Access]) -> bool:
    """Whether an access that must stay in its order stands between: a store, or, between stores, also a load."""
    numbers = [access.number for access in run]
    memory, terms, stores = run[0].address.memory, run[0].address.terms, run[0].what == "stores"
    return any(
        (stores or other.what == "stores") and (other.address.memory, other.address.terms) != (memory, terms)
        for other in everything[min(numbers) : max(numbers)]
    )


def _possible(run: Sequence[_Access]) -> int:
    """Bits that one instruction moves of neighbours: a power of two."""
    return min(_WIDEST, 1 << (sum(access.bits for access in run).bit_length() - 1))


@dataclass(frozen=True, slots=True)
class Described:
    """A kernel as the traced module tells of it: fields of `Usage` that are known before there is any code."""

    span: Span | None
    threads: int | None
    launch_shared: int | None
    narrow: tuple[Narrow, ...]


def described(module: Module) -> dict[str, Described]:
    """The kernels of a traced module by their names."""
    bytes_of = {launch.kernel: constant_of(launch.shared_bytes) for launch in launches(module)}
    found: dict[str, Described] = {}
    for kernel in kernels(module):
        name = kernel.attributes["sym_name"].value
        found[name] = Described(place_of(kernel), _threads(kernel), bytes_of.get(name), narrow_accesses(kernel))
    return found


def usages(kernels: Mapping[str, Described], resources: Mapping[str, Resources]) -> dict[str, Usage]:
    """The kernels by their names, with what the assembler says of them."""
    return {
        name: Usage(
            resources[name],
            kernel.threads,
            kernel.launch_shared,
            _occupancies(resources[name], kernel.threads, kernel.launch_shared),
            kernel.narrow,
            kernel.span,
        )
        for name, kernel in kernels.items()
        if name in resources
    }


def usage_table(found: Mapping[str, Usage]) -> str:
    """The kernels as rows, then what could be better, with its line."""
    heads = ("kernel", "arch", "registers", "shared", "stack", "spilled", "barriers", "threads", "blocks per SM")
    rows = [heads, *(_row(usage) for usage in found.values())]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    for usage in found.values():
        others = ", ".join(f"{name} {blocks}" for name, blocks in usage.occupancy.items())
        lines += [f"{usage.resources.kernel}: blocks per SM by architecture: {others}"] if others else []
        lines += [f"{_where(narrow.span)}: {narrow}" for narrow in usage.narrow]
    return "\n".join(lines)


def _where(span: Span | None) -> str:
    return f"{span.file}:{span.line}" if span else "?"


def _row(usage: Usage) -> tuple[str, ...]:
    used = usage.resources
    return (
        used.kernel,
        used.architecture,
        str(used.registers),
        "launch" if usage.shared is None else str(usage.shared),
        str(used.stack),
        str(used.spill_stores + used.spill_loads),
        str(used.barriers),
        "launch" if usage.threads is None else str(usage.threads),
        str(usage.occupancy.get(used.architecture, "launch")),
    )


def _occupancies(used: Resources, threads: int | None, shared: int | None) -> dict[str, int]:
    if threads is None or shared is None:
        return {}
    return {name: occupancy(used, each, threads, shared) for name, each in ARCHITECTURES.items()}


def _threads(kernel: Operation) -> int | None:
    block = known_block(kernel)
    return None if block is None else math.prod(block)
