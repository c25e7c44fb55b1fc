"""Pass `instrument-checks`: in a debug build, every access of shared memory and every meeting of threads is told.

Input: kernels as they were traced, so that what is seen are accesses of threads and not of vectors. Output: the same
kernels with operations of the dialect `check`, a table that says where in the source each access is, and launches that
ask for findings when they end. Without `races` or `init` in the setting `debug` nothing changes.
"""

from __future__ import annotations

import json
import warnings
from dataclasses import asdict
from typing import Any

from triptych.atoms.matrix_copies import MATRIX_COPIES
from triptych.atoms.operations import LOAD_MATRIX, STORE_MATRIX
from triptych.ir import bindings
from triptych.ir.builder import Builder
from triptych.ir.handles import Module, Operation, Value
from triptych.ir.launch import launches
from triptych.ir.location import place_of, spans_of
from triptych.ir.modules import graft, kernels, text_constant
from triptych.ir.types import GLOBAL_SPACE, byte_size, count_and_element, is_float, is_integer, memory_space
from triptych.simt import dialect
from triptych.simt.addresses import base
from triptych.simt.check_dialect import CHECK, CHECK_ACCESS, CHECK_COPY, CHECK_PLACE, CHECK_SYNC, CHECKS_ATTRIBUTE
from triptych.simt.device_attribute import device_of
from triptych.simt.operations import access_alignment, defining_op, enclosing, walk
from triptych.simt.shared_parts import PARTS_ATTRIBUTE
from triptych.simt.traits import Scope, is_described, traits
from triptych.support.checkers import INIT, RACES, checkers
from triptych.support.warnings import TriptychWarning
from triptych.targets.cpu.checking import shadow_layout as at
from triptych.targets.cpu.checking.declarations import DECLARATIONS
from triptych.targets.cpu.checking.finding_code import COLLECT
from triptych.targets.cpu.plain_code import PlainCode

_ROW_BYTES = 16
_ATOMIC = ("llvm.atomicrmw", "llvm.cmpxchg")
_ORDER = "triptych.order"
_RELAXED = 2
_LARGEST_GRAIN = 4


def instrument_checks(module: Module) -> None:
    """Instrument every kernel, and have every launch collect what was found."""
    words = checkers()
    mode = (at.CHECK_RACES if RACES in words else 0) | (at.CHECK_INIT if INIT in words else 0)
    found = [kernel for kernel in kernels(module) if not _goes_on_by_itself(kernel)] if mode else []
    if not found:
        return
    CHECK.load(module.context)
    tables = {}
    with module.context:
        for kernel in found:
            instrumented = _Kernel(kernel, mode)
            instrumented.rewrite()
            tables[instrumented.name] = instrumented.table
            graft(module, text_constant(instrumented.table, instrumented.description()))
        graft(module, DECLARATIONS)
        for launch in launches(module):
            if launch.kernel in tables:
                _collect_after(launch.operation, tables[launch.kernel])


def _goes_on_by_itself(kernel: Operation) -> bool:
    """Whether only mbarriers and groups order some copies or products, which these checkers do not know."""
    found = next((each for each in walk(kernel) if is_described(each) and traits(each).scope is Scope.CLUSTER), None)
    if found is None:
        return False
    span = place_of(found)
    text = "`races` and `init` do not check kernels with mbarriers, TMA or warpgroup products; `async` does"
    warnings.warn_explicit(text, TriptychWarning, span.file if span else __file__, span.line if span else 1)
    return True


def _collect_after(launch: Operation, table: str) -> None:
    builder = Builder(launch.context)
    following = launch.block.operations
    place = next(i for i, each in enumerate(following) if each.operation == launch) + 1
    builder.insertion = bindings.mlir().InsertionPoint(following[place])
    code = PlainCode(builder, launch.location)
    address = code.value("llvm.mlir.addressof", (), "!llvm.ptr", {"global_name": code.attribute(f'@"{table}"')})
    code.check_status(COLLECT, (address,))


class _Kernel:
    """A kernel while it is instrumented."""

    def __init__(self, kernel: Operation, mode: int) -> None:
        self._kernel = kernel
        self._mode = mode
        self.name = str(kernel.attributes["sym_name"].value)
        self.table = f"triptych.sites.{self.name}"
        self._sites: list[dict[str, Any]] = []
        self._loops: dict[Operation, int] = {}
        self._grain = _LARGEST_GRAIN
        self._builder = Builder(kernel.context)
        self._has_fences = any(each.name == "llvm.fence" for each in walk(kernel))

    def rewrite(self) -> None:
        for operation in list(walk(self._kernel)):
            self._code = PlainCode(self._builder, operation.location)
            self._builder.insertion = bindings.mlir().InsertionPoint(operation)
            if operation.name in _ATOMIC or operation.name in ("llvm.load", "llvm.store"):
                self._access(operation)
            elif operation.name in (LOAD_MATRIX, STORE_MATRIX):
                self._matrix(operation)
            elif operation.name == dialect.ASYNC_COPY and self._mode & at.CHECK_RACES:
                self._copy(operation)
            elif operation.name == dialect.ASYNC_COPY:
                size = int(operation.attributes["size"].value)
                self._tell(operation, operation.operands[0], size, size, at.WRITES_MEMORY, "writes (cp.async)")
            else:
                self._meeting(operation)
        facts = {"mode": self._mode, "grain": self._grain.bit_length() - 1}
        facts["lanes"] = device_of(self._kernel).lanes.bit_length() - 1
        checks = json.dumps({**facts, "table": self.table})
        self._kernel.attributes[CHECKS_ATTRIBUTE] = self._builder.string(checks)

    def description(self) -> str:
        """The table of sites, as a text that the object file has."""
        attributes = self._kernel.attributes
        parts = json.loads(attributes[PARTS_ATTRIBUTE].value) if PARTS_ATTRIBUTE in attributes else []
        block = list(attributes["known_block_size"]) if "known_block_size" in attributes else []
        lanes = device_of(self._kernel).lanes
        return json.dumps({"kernel": self.name, "sites": self._sites, "parts": parts, "block": block, "lanes": lanes})

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
        value = operation.operands[0] if stores and not atomic and _is_simple(operation.operands[0]) else None
        if _may_be_shared(pointer):
            size, aligned = byte_size(kind), access_alignment(operation, kind)
            flags = does | (at.IS_ATOMIC if atomic else 0)
            self._tell(operation, pointer, size, aligned, flags, verb + (" (atomic)" if atomic else ""), value, kind)
        if atomic and (self._is_ordered(operation) or self._has_fences):
            if does & at.WRITES_MEMORY:
                self._place(pointer, at.RELEASE_PLACE)
            if does & at.READS_MEMORY:
                self._behind(operation)
                self._place(pointer, at.ACQUIRE_PLACE)

    def _is_ordered(self, operation: Operation) -> bool:
        attributes = operation.attributes
        if _ORDER in attributes:
            return not str(attributes[_ORDER].value).startswith(("relaxed", "volatile", "mmio"))
        name = "success_ordering" if operation.name == "llvm.cmpxchg" else "ordering"
        return name in attributes and int(attributes[name].value) > _RELAXED

    def _matrix(self, operation: Operation) -> None:
        copy = MATRIX_COPIES[operation.attributes["instruction"].value]
        kind = (at.READS_MEMORY if operation.name == LOAD_MATRIX else at.WRITES_MEMORY) | at.IS_COLLECTIVE
        verb = "reads (a row of a matrix)" if operation.name == LOAD_MATRIX else "writes (a row of a matrix)"
        lanes = copy.count * copy.rows
        self._tell(operation, operation.operands[0], _ROW_BYTES, _ROW_BYTES, kind, verb, lanes=lanes)

    def _tell(
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
        self._grain = min(self._grain, size & -size, aligned)
        counted = count_and_element(element) if element is not None else None
        each = byte_size(counted[1] if counted else element) if element is not None else size
        self._site(operation, verb, size, each)
        integer = self._builder.integer
        attributes = {"size": integer("i32", size), "kind": integer("i32", kind)}
        attributes |= {"site": integer("i32", len(self._sites) - 1), "lanes": integer("i32", lanes)}
        self._code.operation(CHECK_ACCESS, (pointer,) if value is None else (pointer, value), attributes=attributes)

    def _copy(self, operation: Operation) -> None:
        """The copy itself is left to the checkers, which move its bytes when they are waited for."""
        target, source, *given = operation.operands
        size = int(operation.attributes["size"].value)
        self._grain = min(self._grain, size)
        self._site(operation, "copies (cp.async)", size, size)
        integer = self._builder.integer
        attributes = {"size": integer("i32", size), "site": integer("i32", len(self._sites) - 1)}
        count = given[0] if given else self._code.constant(size, "i32")
        self._code.operation(CHECK_COPY, (target, source, count), attributes=attributes)
        operation.erase()

    def _site(self, operation: Operation, verb: str, size: int, element: int) -> None:
        """Another row of the table."""
        spans, loops, around = [asdict(span) for span in spans_of(operation.location)], [], enclosing(operation)
        while around.name != "gpu.func":
            if around.name in ("scf.for", "scf.while"):
                loops.append(self._loops.setdefault(around, len(self._loops)))
            around = enclosing(around)
        facts = {"spans": spans, "verb": verb, "size": size, "bytes": element, "loops": loops}
        self._sites.append({**facts, "number": len(self._sites)})

    # meetings ---------------------------------------------------------------------------------------------------
    def _meeting(self, operation: Operation) -> None:
        if operation.name == dialect.SYNC_WARP:
            self._sync(at.MEET_WARP, operation.operands[0])
        elif operation.name == "gpu.barrier":
            self._behind(operation)
            self._sync(at.PASS_BLOCK)
        elif operation.name == dialect.ASYNC_COMMIT and self._mode & at.CHECK_RACES:
            self._sync(at.COMMIT_COPIES)
        elif operation.name == dialect.ASYNC_WAIT and self._mode & at.CHECK_RACES:
            groups = self._code.constant(int(operation.attributes["groups"].value), "i32")
            self._sync(at.AWAIT_COPIES, groups, groups)
        elif operation.name in (dialect.BARRIER, dialect.BARRIER_ARRIVE):
            self._sync(at.ARRIVE, *operation.operands)
            if operation.name == dialect.BARRIER:
                self._behind(operation)
                self._sync(at.PASS_NAMED, *operation.operands)

    def _behind(self, operation: Operation) -> None:
        """Write behind an operation from now on."""
        following = operation.block.operations
        place = next(i for i, each in enumerate(following) if each.operation == operation) + 1
        self._builder.insertion = bindings.mlir().InsertionPoint(following[place])

    def _sync(self, what: int, *operands: Value) -> None:
        self._code.operation(CHECK_SYNC, operands, attributes={"what": self._builder.integer("i32", what)})

    def _place(self, pointer: Value, what: int) -> None:
        self._code.operation(CHECK_PLACE, (pointer,), attributes={"what": self._builder.integer("i32", what)})


def _may_be_shared(pointer: Value) -> bool:
    """Whether a pointer may lead to shared memory: not one into registers, nor one that says global memory."""
    made = defining_op(base(pointer))
    return memory_space(pointer.type) != GLOBAL_SPACE and (made is None or made.name != "llvm.alloca")


def _is_simple(value: Value) -> bool:
    """Whether a value can be compared with what another thread has written: one number of a common type."""
    kind = value.type
    return count_and_element(kind) is None and (is_float(kind, 32) or is_integer(kind, 32) or is_integer(kind, 64))
