"""Pass `instrument-checks`: in a debug build, every access of shared memory and every barrier is reported.

Input: kernels as they were traced, so that what is seen are accesses of threads and not of vectors. Output: the same
kernels with operations of the dialect `check`, a table that says where in the source each access is, and launches that
ask for findings when they end. Without a checker of memory in the setting `debug` nothing changes.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from dataclasses import asdict
from functools import reduce
from math import prod
from operator import or_
from typing import Any

from triptych.ir.builder import Builder
from triptych.ir.handles import Block, Module, Operation, Value
from triptych.ir.launch import launches
from triptych.ir.location import place_of, spans_of
from triptych.ir.modules import append_ir, kernels, text_constant
from triptych.ir.types import (
    GLOBAL_SPACE,
    SHARED_SPACE,
    bit_width,
    byte_size,
    count_and_element,
    is_float,
    memory_space,
)
from triptych.kernel_ir.analysis.addresses import is_in_arrays
from triptych.kernel_ir.analysis.uninitialized_registers import registers_of
from triptych.kernel_ir.dialects import simt
from triptych.kernel_ir.dialects.check import (
    CHECK,
    CHECK_ACCESS,
    CHECK_CALL,
    CHECK_COPY,
    CHECK_PLACE,
    CHECK_SYNC,
    CHECKS_ATTRIBUTE,
    SITE_ATTRIBUTE,
    TABLE_ATTRIBUTE,
)
from triptych.kernel_ir.dialects.kernel_attributes import PARTS_ATTRIBUTE, device_of
from triptych.kernel_ir.dialects.kernel_operations import (
    access_alignment,
    cluster_of,
    definition_of,
    enclosing,
    is_described,
    is_pure,
    known_block,
    reaches_other_blocks,
    traits,
    walk,
)
from triptych.kernel_ir.dialects.matrix_copies import MATRIX_COPIES
from triptych.kernel_ir.dialects.opdef import OpDef, Scope
from triptych.kernel_ir.dialects.tile import LOAD_MATRIX, STORE_MATRIX, TMEM_ALLOC, TMEM_LOAD, TMEM_LOAD_REDUCE
from triptych.sanitizer.checkers import ASYNC, BARRIER_STATISTICS, GLOBAL, INIT, RACES, checkers, suppressed
from triptych.sanitizer.findings import note_order
from triptych.sanitizer.pipeline_protocol import CALLS, LOOSE, STORES, TAIL
from triptych.support.errors import TriptychWarning
from triptych.targets.cpu.abi.abi import CHECK_COLLECT
from triptych.targets.cpu.abi.kernel_functions import check_status
from triptych.targets.cpu.sanitizer import shadow_layout as at
from triptych.targets.cpu.sanitizer.check_calls import DECLARATIONS
from triptych.targets.cpu.sanitizer.initcheck_shadow import follow_unset_registers
from triptych.targets.cpu.sanitizer.pipeline_memory import PipelineMemory

_ROW_BYTES = 16
_FIRST_PHASES = {"Consumer": 1, "Producer": 2}
"""Of the states of pipelines, and one more."""
_ATOMIC = ("llvm.atomicrmw", "llvm.cmpxchg")
_ORDER = "triptych.order"
_ARRIVALS = (simt.SYNC_WARP, "gpu.barrier", simt.BARRIER, simt.BARRIER_ARRIVE)
_RELAXED = 2
_MODES = {
    RACES: at.CHECK_RACES,
    ASYNC: at.CHECK_RACES,
    INIT: at.CHECK_INIT,
    GLOBAL: at.CHECK_GLOBAL,
    BARRIER_STATISTICS: at.COUNT_ARRIVALS,
}
"""`async` is the race detector, of which only what asynchronous agents take part in is reported."""
_LARGEST_GRAIN = 4
_BARRIER_BYTES, _WORD_BYTES = 8, 4
_WHOLE_FLOAT = 32
"""Bits of floats that every machine has registers for."""


def instrument_checks(module: Module) -> None:
    """Instrument every kernel, and have every launch collect what was found."""
    words = checkers()
    mode = reduce(or_, (bit for word, bit in _MODES.items() if word in words), 0)
    found = [kernel for kernel in kernels(module) if not _is_too_large(kernel)] if mode else []
    for kernel in kernels(module):
        if kernel not in found:
            _forget_calls(kernel)
    if not found:
        return
    CHECK.load(module.context)
    tables = {}
    with module.context:
        for kernel in found:
            instrumented = _InstrumentedKernel(kernel, mode)
            instrumented.rewrite()
            tables[instrumented.name] = instrumented.table
            append_ir(module, text_constant(instrumented.table, instrumented.description()))
        append_ir(module, DECLARATIONS)
        for launch in launches(module):
            if launch.kernel in tables:
                _collect_after(launch.operation, tables[launch.kernel])


def _forget_calls(kernel: Operation) -> None:
    """Nothing is recorded of what a kernel without checkers does with its pipelines."""
    for operation in [each for each in walk(kernel) if each.name == CHECK_CALL]:
        operation.erase()


def _blocks(kernel: Operation) -> int:
    """Blocks that run together."""
    return prod(cluster_of(kernel)) if reaches_other_blocks(kernel) else 1


def _is_too_large(kernel: Operation) -> bool:
    """Whether a kernel has clusters of more threads than the checkers can tell apart."""
    blocks = _blocks(kernel)
    block = known_block(kernel)
    threads = prod(block) if block is not None else 0
    is_known = threads > 0 and threads % device_of(kernel).lanes == 0
    if blocks == 1 or (is_known and blocks * threads <= at.MOST_THREADS and blocks <= at.MOST_BLOCKS):
        return False
    span = place_of(kernel)
    text = (
        f"`races` and `init` check clusters of at most {at.MOST_THREADS} threads in {at.MOST_BLOCKS} blocks of whole "
        f"warps whose size is known: not {kernel.attributes['sym_name'].value}"
    )
    warnings.warn_explicit(text, TriptychWarning, span.file if span else __file__, span.line if span else 1)
    return True


def _collect_after(launch: Operation, table: str) -> None:
    builder = Builder(launch.context, launch.location)
    launch.attributes[TABLE_ATTRIBUTE] = builder.string(table)
    builder.insertion = builder.after(launch)
    address = builder.value("llvm.mlir.addressof", (), "!llvm.ptr", {"global_name": builder.attribute(f'@"{table}"')})
    check_status(builder, CHECK_COLLECT, (address,))


class _InstrumentedKernel:
    """A kernel while it is instrumented."""

    def __init__(self, kernel: Operation, mode: int) -> None:
        self._kernel = kernel
        self._mode = mode
        self.name = str(kernel.attributes["sym_name"].value)
        self.table = f"triptych.sites.{self.name}"
        self._sites: list[dict[str, Any]] = []
        self._loops: dict[Operation, int] = {}
        self._grain = self._global_grain = _LARGEST_GRAIN
        self._builder = Builder(kernel.context)
        self._memory = PipelineMemory(kernel)
        self._together = _blocks(kernel)
        if any(is_described(each) and traits(each).scope is Scope.CLUSTER for each in walk(kernel)):
            self._mode |= at.HAS_AGENTS
        self._fences = [each for each in walk(kernel) if each.name == "llvm.fence"]
        self._has_wide_fences = not all(map(_is_narrow, self._fences))

    def rewrite(self) -> None:
        for operation in list(walk(self._kernel)):
            self._builder.location = operation.location
            self._builder.insertion = self._builder.before(operation)
            if operation.name in _ATOMIC or operation.name in ("llvm.load", "llvm.store"):
                self._access(operation)
            elif operation.name in (LOAD_MATRIX, STORE_MATRIX):
                self._matrix(operation)
            elif operation.name == simt.ASYNC_COPY and self._mode & at.CHECK_RACES:
                self._copy(operation)
            elif operation.name == simt.ASYNC_COPY and self._mode & at.CHECK_INIT:
                size = int(operation.attributes["size"].value)
                self._record(operation, operation.operands[0], size, size, at.WRITES_MEMORY, "writes (cp.async)")
            elif operation.name == TMEM_ALLOC:
                self._take_columns(operation)
            elif (definition := definition_of(operation)) is not None and definition.says:
                self._asynchronous(operation, definition)
            elif operation.name == CHECK_CALL:
                self._call(operation)
            else:
                self._synchronization(operation)
        if self._mode & at.CHECK_INIT:
            follow_unset_registers(self._kernel, self._builder, self._site)
        if self._mode & at.CHECK_RACES:
            self._used_loads()
        grains = (self._grain.bit_length() - 1) | (self._global_grain.bit_length() - 1) << 8
        facts = {"mode": self._mode, "grain": grains}
        facts["lanes"] = device_of(self._kernel).lanes.bit_length() - 1
        checks = json.dumps({**facts, "table": self.table})
        self._kernel.attributes[CHECKS_ATTRIBUTE] = self._builder.string(checks)

    def description(self) -> str:
        """The table of sites, as a text that the object file has."""
        attributes = self._kernel.attributes
        parts = json.loads(attributes[PARTS_ATTRIBUTE].value) if PARTS_ATTRIBUTE in attributes else []
        block = list(attributes["known_block_size"]) if "known_block_size" in attributes else []
        lanes = device_of(self._kernel).lanes
        found = map(definition_of, walk(self._kernel))
        phases = any(each is not None and each.of_mbarrier for each in found)
        facts = {"kernel": self.name, "sites": self._sites, "parts": parts, "block": block, "lanes": lanes}
        only_async = ASYNC in checkers() and RACES not in checkers()
        return json.dumps({**facts, "phases": phases, "blocks": self._together, "only_async": only_async})

    # accesses ---------------------------------------------------------------------------------------------------
    def _access(self, operation: Operation) -> None:
        stores = operation.name == "llvm.store"
        pointer = operation.operands[1] if stores else operation.operands[0]
        kind = operation.operands[0].type if stores else operation.results[0].type
        if operation.name == "llvm.cmpxchg":
            kind = operation.operands[1].type
        atomic = operation.name in _ATOMIC or _ORDER in operation.attributes or "volatile_" in operation.attributes
        does = at.WRITES_MEMORY if stores else at.READS_MEMORY
        if operation.name in _ATOMIC:
            does = at.READS_MEMORY | at.WRITES_MEMORY
        verb = "updates" if operation.name in _ATOMIC else "writes" if stores else "reads"
        value = self._stored(operation.operands[0]) if stores and not atomic else None
        size, aligned = byte_size(kind), access_alignment(operation, kind)
        flags = does | (at.IS_ATOMIC if atomic else 0)
        verb += " (atomic)" if atomic else ""
        if _may_be_shared(pointer) and self._mode & at.OF_SHARED:
            self._record(operation, pointer, size, aligned, flags, verb, value, kind)
        if _may_be_global(pointer) and self._mode & at.CHECK_GLOBAL:
            flags |= at.IS_GLOBAL | (at.IS_NARROW if atomic and _is_narrow(operation) else 0)
            self._record(operation, pointer, size, aligned, flags, verb, value, kind)
        if atomic and (self._is_ordered(operation) or self._is_fenced(operation)):
            if does & at.WRITES_MEMORY:
                self._place(operation, pointer, at.RELEASE_PLACE)
            if does & at.READS_MEMORY:
                self._behind(operation)
                self._place(operation, pointer, at.ACQUIRE_PLACE)

    def _stored(self, value: Value) -> Value | None:
        """What can be compared with what another thread has written: numbers of whole bytes, narrow floats as bits."""
        count, kind = count_and_element(value.type) or (0, value.type)
        bits = bit_width(kind) or 1
        if bits % 8:
            return None
        if not is_float(kind) or bits >= _WHOLE_FLOAT:
            return value
        number = self._builder.type(f"i{bits}")
        return self._builder.value("arith.bitcast", (value,), self._builder.vector(count, number) if count else number)

    def _is_ordered(self, operation: Operation) -> bool:
        attributes = operation.attributes
        if _ORDER in attributes:
            return not str(attributes[_ORDER].value).startswith(("relaxed", "volatile", "mmio"))
        name = "success_ordering" if operation.name == "llvm.cmpxchg" else "ordering"
        return name in attributes and int(attributes[name].value) > _RELAXED

    def _is_fenced(self, operation: Operation) -> bool:
        """Whether a thread may pass a fence as well as this operation: not one of another branch, unless a loop is
        around both."""
        return any(not _are_apart(operation, fence) for fence in self._fences)

    def _matrix(self, operation: Operation) -> None:
        copy = MATRIX_COPIES[operation.attributes["instruction"].value]
        if not self._mode & at.OF_SHARED:
            return
        kind = (at.READS_MEMORY if operation.name == LOAD_MATRIX else at.WRITES_MEMORY) | at.IS_COLLECTIVE
        verb = "reads (a row of a matrix)" if operation.name == LOAD_MATRIX else "writes (a row of a matrix)"
        lanes = copy.count * copy.rows
        self._record(operation, operation.operands[0], _ROW_BYTES, _ROW_BYTES, kind, verb, lanes=lanes)

    def _record(
        self,
        operation: Operation,
        pointer: Value,
        size: int,
        aligned: int,
        kind: int,
        verb: str,
        value: Value | None = None,
        element: Any = None,
        lanes: int = 0,
    ) -> None:
        if kind & at.IS_GLOBAL:
            self._global_grain = min(self._global_grain, size & -size, aligned)
        else:
            self._grain = min(self._grain, size & -size, aligned)
        counted = count_and_element(element) if element is not None else None
        each = byte_size(counted[1] if counted else element) if element is not None else size
        self._site(operation, verb, size, each)
        self._sites[-1]["global"] = bool(kind & at.IS_GLOBAL)
        integer = self._builder.integer
        attributes = {"size": integer("i32", size), "kind": integer("i32", kind)}
        attributes |= {"site": integer("i32", len(self._sites) - 1), "lanes": integer("i32", lanes)}
        self._builder.operation(CHECK_ACCESS, (pointer,) if value is None else (pointer, value), attributes=attributes)

    def _copy(self, operation: Operation) -> None:
        """The copy itself is left to the checkers, which move its bytes when they are waited for."""
        target, source, *given = operation.operands
        size = int(operation.attributes["size"].value)
        self._grain = min(self._grain, size)
        self._site(operation, "copies (cp.async)", size, size)
        integer = self._builder.integer
        attributes = {"size": integer("i32", size), "site": integer("i32", len(self._sites) - 1)}
        count = given[0] if given else self._builder.constant(size, "i32")
        self._builder.operation(CHECK_COPY, (target, source, count), attributes=attributes)
        operation.erase()

    def _asynchronous(self, operation: Operation, definition: OpDef) -> None:
        """Mark an asynchronous operation, or one that orders such: emission passes its addresses and its threads on."""
        size = _BARRIER_BYTES if definition.of_mbarrier else 0
        self._site(operation, definition.says, size, size)
        operation.attributes[SITE_ATTRIBUTE] = self._builder.integer("i32", len(self._sites) - 1)

    def _take_columns(self, operation: Operation) -> None:
        """One lane writes the address of columns to shared memory."""
        if self._mode & at.OF_SHARED:
            word = operation.operands[0]
            self._record(operation, word, _WORD_BYTES, _WORD_BYTES, at.WRITES_MEMORY, "writes (its address)", lanes=1)
            operation.attributes[SITE_ATTRIBUTE] = self._builder.integer("i32", len(self._sites) - 1)

    def _call(self, operation: Operation) -> None:
        """A call of a pipeline: which one, for the native code as numbers and for reports in the table."""
        attributes = operation.attributes
        name, kind = (str(attributes[each].value) for each in ("call", "kind"))
        facts = {each: int(attributes[each].value) for each in ("pipeline", "stages", "ring", "groups")}
        self._site(operation, name, 0, 0)
        self._sites[-1]["call"] = {"name": name, "kind": kind, **facts}
        if name == TAIL and kind != STORES:
            operation.erase()
            return
        call, loose = CALLS["producer_acquire" if name == TAIL else name], at.IS_LOOSE if kind in LOOSE else 0
        begins = _FIRST_PHASES.get(call.user, 0) << at.FIRST_PHASE
        what = (loose | begins if call.takes else at.IS_GIVEN) | (at.HAS_GROUPS if facts["groups"] else 0)
        what |= (at.IS_STORES if kind == STORES else 0) | (at.IS_TAIL if name == TAIL else 0)
        numbers = {"place": 2 * facts["pipeline"] + call.side, "what": what, SITE_ATTRIBUTE: len(self._sites) - 1}
        for each, number in numbers.items():
            attributes[each] = self._builder.integer("i32", number)

    def _site(
        self, operation: Operation, verb: str, size: int, element: int, registers: dict[str, Any] | None = None
    ) -> int:
        """Another row of the table: its number."""
        spans, loops, around = [asdict(span) for span in spans_of(operation.location)], [], enclosing(operation)
        while around.name != "gpu.func":
            if around.name in ("scf.for", "scf.while"):
                loops.append(self._loops.setdefault(around, len(self._loops)))
            around = enclosing(around)
        facts = {"spans": spans, "verb": verb, "size": size, "bytes": element, "loops": loops, "global": False}
        facts |= {"pipelines": self._memory.pipelines_of(operation), "registers": registers}
        self._sites.append({**facts, "number": len(self._sites)})
        return len(self._sites) - 1

    # synchronization --------------------------------------------------------------------------------------------
    def _synchronization(self, operation: Operation) -> None:
        if operation.name in _ARRIVALS:
            span = place_of(operation)
            note_order(span)
            if suppressed(span):
                return
            if self._mode & at.COUNT_ARRIVALS and operation.name != "gpu.barrier":
                self._come(operation)
        if operation.name == simt.SYNC_WARP:
            self._sync(at.MEET_WARP, operation.operands[0])
        elif operation.name == "gpu.barrier" and self._together > 1:
            self._sync(at.ARRIVE)
            self._behind(operation)
            self._sync(at.PASS_NAMED)
        elif operation.name == "gpu.barrier":
            self._behind(operation)
            self._sync(at.PASS_BLOCK)
        elif operation.name == simt.ASYNC_COMMIT and self._mode & at.CHECK_RACES:
            self._sync(at.COMMIT_COPIES)
        elif operation.name == simt.ASYNC_WAIT and self._mode & at.CHECK_RACES:
            groups = self._builder.constant(int(operation.attributes["groups"].value), "i32")
            self._sync(at.AWAIT_COPIES, groups, groups)
        elif operation.name in (simt.BARRIER, simt.BARRIER_ARRIVE):
            self._sync(at.ARRIVE, *operation.operands)
            if operation.name == simt.BARRIER:
                self._behind(operation)
                self._sync(at.PASS_NAMED, *operation.operands)

    def _used_loads(self) -> None:
        """Before registers are read that loads from tensor memory have written: those loads are complete.

        One instruction writes all registers of a load, and a machine makes whoever reads one of them wait for it; so
        kernels need a wait of their own only for loads that nobody has used yet. Of several loads of a warp a use of
        the last stands for all. A block of operations reports it once, and again behind the next load.
        """
        loads = [operation for operation in walk(self._kernel) if operation.name in (TMEM_LOAD, TMEM_LOAD_REDUCE)]
        if not loads:
            return
        stores = {store for load in loads for store in _stores(load.results)}
        written = [each for each in registers_of(self._kernel).values() if not stores.isdisjoint(each.accesses)]
        reads = {access for each in written for access in each.accesses if access.name != "llvm.store"}
        reported: set[Block] = set()
        for operation in walk(self._kernel):
            if operation.name in (TMEM_LOAD, TMEM_LOAD_REDUCE):
                reported.clear()
            elif operation in reads and operation.block not in reported:
                reported.add(operation.block)
                self._builder.location, self._builder.insertion = operation.location, self._builder.before(operation)
                self._sync(at.USE_TENSOR_LOADS)

    def _come(self, operation: Operation) -> None:
        """For hints: threads come to a mask of lanes, or to a named barrier."""
        self._site(operation, "comes", 0, 0)
        named = () if operation.name == simt.SYNC_WARP else operation.operands
        self._sync(at.COME_TO_SITE, self._builder.constant(len(self._sites) - 1, "i32"), *named)

    def _behind(self, operation: Operation) -> None:
        """Write behind an operation from now on."""
        self._builder.insertion = self._builder.after(operation)

    def _sync(self, what: int, *operands: Value) -> None:
        self._builder.operation(CHECK_SYNC, operands, attributes={"what": self._builder.integer("i32", what)})

    def _place(self, operation: Operation, pointer: Value, what: int) -> None:
        narrow = _is_narrow(operation) and (self._is_ordered(operation) or not self._has_wide_fences)
        numbers = {"what": what, "narrow": int(narrow)}
        attributes = {name: self._builder.integer("i32", number) for name, number in numbers.items()}
        self._builder.operation(CHECK_PLACE, (pointer,), attributes=attributes)


def _stores(values: Sequence[Value]) -> set[Operation]:
    """Where words of a load go, in whatever form."""
    users = {use.owner.operation for value in values for use in value.uses}
    stores = {user for user in users if user.name == "llvm.store"}
    return stores.union(*(_stores(user.results) for user in users if is_pure(user)))


def _are_apart(one: Operation, other: Operation) -> bool:
    """Whether two operations are in different branches of one `if`, and no loop is around it."""
    around = _regions(one)
    for branch, region in _regions(other).items():
        if branch.name == "scf.if" and around.get(branch, region) != region:
            return not any(each.name in ("scf.for", "scf.while") for each in _regions(branch))
    return False


def _regions(operation: Operation) -> dict[Operation, int]:
    """What is around an operation in its kernel, each with the number of the region that leads to it."""
    found: dict[Operation, int] = {}
    inside, block = operation, operation.block
    while (outer := enclosing(inside)).name != "gpu.func":
        found[outer] = next(i for i, each in enumerate(outer.regions) if block in list(each.blocks))
        inside, block = outer, outer.block
    return found


def _is_narrow(operation: Operation) -> bool:
    """Whether only threads of the block, or of the cluster, see an operation as atomic and in order."""
    attributes = operation.attributes
    if _ORDER in attributes:
        return str(attributes[_ORDER].value).endswith((".cta", ".cluster"))
    return "syncscope" in attributes and attributes["syncscope"].value in ("block", "cluster")


def _may_be_global(pointer: Value) -> bool:
    """Whether a pointer may lead to global memory: not one into registers, nor one that says shared memory."""
    return memory_space(pointer.type) != SHARED_SPACE and not is_in_arrays(pointer)


def _may_be_shared(pointer: Value) -> bool:
    """Whether a pointer may lead to shared memory: not one into registers, nor one that says global memory."""
    return memory_space(pointer.type) != GLOBAL_SPACE and not is_in_arrays(pointer)
