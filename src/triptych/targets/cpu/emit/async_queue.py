"""Asynchronous queue: copies and WGMMAs that complete later than they are issued, in orders other than `early`.

An operation puts what it works on into a record of the queue that all warps of a cluster share; a function of its own
does it. The scheduler runs the oldest, or any, when no warp gets on; who waits for groups runs exactly those. What is
left when the last warp has ended is run then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from string import Template

from triptych.ir.handles import Attribute, Operation, Value
from triptych.ir.types import is_integer
from triptych.kernel_ir.dialects.kernel_attributes import EARLY, order_of, seed_of
from triptych.kernel_ir.dialects.tile import TENSOR_MAP_BYTES
from triptych.targets.cpu.emit.barrier_state import BULK_GROUPS, PRODUCT_GROUPS, PROGRESS, QUEUE, State, when
from triptych.targets.cpu.emit.lane_builder import LaneBuilder
from triptych.targets.cpu.emit.launch_frame import LaunchFrame
from triptych.targets.cpu.emit.warp import Background, BlockEnv, Warp

# Queue functions of asynchronous operations, as MLIR text: take a slot, run what is due.
#
# A queue is two numbers, those of its oldest place and of the one after the newest, the state of chance, and a ring of
# records. A record: whether its operation is still to be done, which one it is, whose, of which kind and group; then
# what it works on, and the tensor map that it goes by, as it was when it began: kernels for groups of products change a
# map while copies are under way. Products and commits of one owner are done in their order, everything else in any.

HEAD_BYTES, OPERAND_BYTES, PLACES = 64, 128, 256
RECORD_BYTES = OPERAND_BYTES + TENSOR_MAP_BYTES
QUEUE_BYTES = HEAD_BYTES + RECORD_BYTES * PLACES
FIRST_OPERAND = 3
"""The word of eight bytes in which operands begin."""
MOST_OPERANDS = OPERAND_BYTES // 8 - FIRST_OPERAND
LOADS, STORES, PRODUCTS, UMMAS = range(4)
"""Kinds; of the last two, those of one owner are done in their order."""

_FUNCTIONS = Template("""
func.func private @"$name.slot"(%queue: !llvm.ptr, %i: i32) -> !llvm.ptr {
  %mask = arith.constant $mask : i32
  %size = arith.constant $size : i64
  %head = arith.constant $head : i64
  %place = arith.andi %i, %mask : i32
  %wide = arith.extui %place : i32 to i64
  %scaled = arith.muli %wide, %size : i64
  %offset = arith.addi %scaled, %head : i64
  %record = llvm.getelementptr %queue[%offset] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  func.return %record : !llvm.ptr
}
func.func private @"$name.run_record"(%record: !llvm.ptr, %state: !llvm.ptr)
    attributes {llvm.passthrough = ["noinline", "nounwind"]} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  llvm.store %zero, %record {alignment = 8 : i64} : i32, !llvm.ptr
  %progress_at = llvm.getelementptr %state[$progress] : (!llvm.ptr) -> !llvm.ptr, i32
  %progress = llvm.load %progress_at {alignment = 4 : i64} : !llvm.ptr -> i32
  %more = arith.addi %progress, %one : i32
  llvm.store %more, %progress_at {alignment = 4 : i64} : i32, !llvm.ptr
  %site_at = llvm.getelementptr %record[1] : (!llvm.ptr) -> !llvm.ptr, i32
  %site = llvm.load %site_at {alignment = 4 : i64} : !llvm.ptr -> i32
  $cases
  func.return
}
func.func private @"$name.is_due"(%record: !llvm.ptr, %kind: i32, %owner: i64, %before: i32) -> i1 {
  %zero = arith.constant 0 : i32
  %live = llvm.load %record {alignment = 8 : i64} : !llvm.ptr -> i32
  %owner_at = llvm.getelementptr %record[1] : (!llvm.ptr) -> !llvm.ptr, i64
  %owned_by = llvm.load %owner_at {alignment = 8 : i64} : !llvm.ptr -> i64
  %kind_at = llvm.getelementptr %record[4] : (!llvm.ptr) -> !llvm.ptr, i32
  %is = llvm.load %kind_at {alignment = 8 : i64} : !llvm.ptr -> i32
  %group_at = llvm.getelementptr %record[5] : (!llvm.ptr) -> !llvm.ptr, i32
  %group = llvm.load %group_at {alignment = 4 : i64} : !llvm.ptr -> i32
  %lives = arith.cmpi ne, %live, %zero : i32
  %mine = arith.cmpi eq, %owned_by, %owner : i64
  %same = arith.cmpi eq, %is, %kind : i32
  %early = arith.cmpi slt, %group, %before : i32
  %a = arith.andi %lives, %mine : i1
  %b = arith.andi %same, %early : i1
  %due = arith.andi %a, %b : i1
  func.return %due : i1
}
func.func private @"$name.run_due"(%queue: !llvm.ptr, %state: !llvm.ptr, %kind: i32, %owner: i64, %before: i32) {
  %one = arith.constant 1 : i32
  %head = llvm.load %queue {alignment = 8 : i64} : !llvm.ptr -> i32
  %tail_at = llvm.getelementptr %queue[1] : (!llvm.ptr) -> !llvm.ptr, i32
  %tail = llvm.load %tail_at {alignment = 4 : i64} : !llvm.ptr -> i32
  scf.for %i = %head to %tail step %one : i32 {
    %record = func.call @"$name.slot"(%queue, %i) : (!llvm.ptr, i32) -> !llvm.ptr
    %due = func.call @"$name.is_due"(%record, %kind, %owner, %before) : (!llvm.ptr, i32, i64, i32) -> i1
    scf.if %due {
      func.call @"$name.run_record"(%record, %state) : (!llvm.ptr, !llvm.ptr) -> ()
    }
  }
  func.return
}
func.func private @"$name.oldest"(%queue: !llvm.ptr) -> i1 {
  %one = arith.constant 1 : i32
  %zero = arith.constant 0 : i32
  %first = llvm.load %queue {alignment = 8 : i64} : !llvm.ptr -> i32
  %tail_at = llvm.getelementptr %queue[1] : (!llvm.ptr) -> !llvm.ptr, i32
  %tail = llvm.load %tail_at {alignment = 4 : i64} : !llvm.ptr -> i32
  %head = scf.while (%i = %first) : (i32) -> i32 {
    %inside = arith.cmpi slt, %i, %tail : i32
    %record = func.call @"$name.slot"(%queue, %i) : (!llvm.ptr, i32) -> !llvm.ptr
    %live = llvm.load %record {alignment = 8 : i64} : !llvm.ptr -> i32
    %done = arith.cmpi eq, %live, %zero : i32
    %on = arith.andi %inside, %done : i1
    scf.condition(%on) %i : i32
  } do {
  ^bb0(%i: i32):
    %next = arith.addi %i, %one : i32
    scf.yield %next : i32
  }
  llvm.store %head, %queue {alignment = 8 : i64} : i32, !llvm.ptr
  %some = arith.cmpi slt, %head, %tail : i32
  func.return %some : i1
}
func.func private @"$name.run_oldest"(%queue: !llvm.ptr, %state: !llvm.ptr) -> i1 {
  %some = func.call @"$name.oldest"(%queue) : (!llvm.ptr) -> i1
  scf.if %some {
    %head = llvm.load %queue {alignment = 8 : i64} : !llvm.ptr -> i32
    %record = func.call @"$name.slot"(%queue, %head) : (!llvm.ptr, i32) -> !llvm.ptr
    func.call @"$name.run_record"(%record, %state) : (!llvm.ptr, !llvm.ptr) -> ()
  }
  func.return %some : i1
}
func.func private @"$name.run_any"(%queue: !llvm.ptr, %state: !llvm.ptr) -> i1 {
  %one = arith.constant 1 : i32
  %zero = arith.constant 0 : i32
  %c13 = arith.constant 13 : i64
  %c7 = arith.constant 7 : i64
  %c17 = arith.constant 17 : i64
  %some = func.call @"$name.oldest"(%queue) : (!llvm.ptr) -> i1
  scf.if %some {
    %chance_at = llvm.getelementptr %queue[1] : (!llvm.ptr) -> !llvm.ptr, i64
    %x0 = llvm.load %chance_at {alignment = 8 : i64} : !llvm.ptr -> i64
    %s0 = arith.shli %x0, %c13 : i64
    %x1 = arith.xori %x0, %s0 : i64
    %s1 = arith.shrui %x1, %c7 : i64
    %x2 = arith.xori %x1, %s1 : i64
    %s2 = arith.shli %x2, %c17 : i64
    %x3 = arith.xori %x2, %s2 : i64
    llvm.store %x3, %chance_at {alignment = 8 : i64} : i64, !llvm.ptr
    %head = llvm.load %queue {alignment = 8 : i64} : !llvm.ptr -> i32
    %tail_at = llvm.getelementptr %queue[1] : (!llvm.ptr) -> !llvm.ptr, i32
    %tail = llvm.load %tail_at {alignment = 4 : i64} : !llvm.ptr -> i32
    %many = arith.subi %tail, %head : i32
    %wide = arith.extui %many : i32 to i64
    %drawn = arith.remui %x3, %wide : i64
    %steps = arith.trunci %drawn : i64 to i32
    %chosen = scf.for %i = %head to %tail step %one iter_args(%best = %head) -> (i32) : i32 {
      %record = func.call @"$name.slot"(%queue, %i) : (!llvm.ptr, i32) -> !llvm.ptr
      %live = llvm.load %record {alignment = 8 : i64} : !llvm.ptr -> i32
      %lives = arith.cmpi ne, %live, %zero : i32
      %distance = arith.subi %i, %head : i32
      %near = arith.cmpi sle, %distance, %steps : i32
      %take = arith.andi %lives, %near : i1
      %next = arith.select %take, %i, %best : i32
      scf.yield %next : i32
    }
    %record = func.call @"$name.slot"(%queue, %chosen) : (!llvm.ptr, i32) -> !llvm.ptr
    %owner_at = llvm.getelementptr %record[1] : (!llvm.ptr) -> !llvm.ptr, i64
    %owner = llvm.load %owner_at {alignment = 8 : i64} : !llvm.ptr -> i64
    %kind_at = llvm.getelementptr %record[4] : (!llvm.ptr) -> !llvm.ptr, i32
    %kind = llvm.load %kind_at {alignment = 8 : i64} : !llvm.ptr -> i32
    %group_at = llvm.getelementptr %record[5] : (!llvm.ptr) -> !llvm.ptr, i32
    %group = llvm.load %group_at {alignment = 4 : i64} : !llvm.ptr -> i32
    %products = arith.constant $products : i32
    %in_order = arith.cmpi sge, %kind, %products : i32
    scf.if %in_order {
      func.call @"$name.run_due"(%queue, %state, %kind, %owner, %group)
        : (!llvm.ptr, !llvm.ptr, i32, i64, i32) -> ()
    }
    func.call @"$name.run_record"(%record, %state) : (!llvm.ptr, !llvm.ptr) -> ()
  }
  func.return %some : i1
}
func.func private @"$name.take"(%queue: !llvm.ptr, %state: !llvm.ptr) -> !llvm.ptr {
  %one = arith.constant 1 : i32
  %most = arith.constant $places : i32
  %some = func.call @"$name.oldest"(%queue) : (!llvm.ptr) -> i1
  %head = llvm.load %queue {alignment = 8 : i64} : !llvm.ptr -> i32
  %tail_at = llvm.getelementptr %queue[1] : (!llvm.ptr) -> !llvm.ptr, i32
  %tail = llvm.load %tail_at {alignment = 4 : i64} : !llvm.ptr -> i32
  %used = arith.subi %tail, %head : i32
  %full = arith.cmpi eq, %used, %most : i32
  scf.if %full {
    %ran = func.call @"$name.run_oldest"(%queue, %state) : (!llvm.ptr, !llvm.ptr) -> i1
    %freed = func.call @"$name.oldest"(%queue) : (!llvm.ptr) -> i1
  }
  %record = func.call @"$name.slot"(%queue, %tail) : (!llvm.ptr, i32) -> !llvm.ptr
  %next = arith.addi %tail, %one : i32
  llvm.store %next, %tail_at {alignment = 4 : i64} : i32, !llvm.ptr
  func.return %record : !llvm.ptr
}""")
_CASE = Template("""
  %number$i = arith.constant $i : i32
  %is$i = arith.cmpi eq, %site, %number$i : i32
  scf.if %is$i {
    $loads
    func.call @"$name.late.$i"($values, %state) : ($types, !llvm.ptr) -> ()
  }""")
_LOAD = Template("""
    %at$i.$j = llvm.getelementptr %record[$word] : (!llvm.ptr) -> !llvm.ptr, i64
    %value$i.$j = llvm.load %at$i.$j {alignment = 8 : i64} : !llvm.ptr -> $type""")


_DECLARATION = Template("""
func.func private @"$name.late.$i"($types, !llvm.ptr)""")


def queue_functions(name: str, sites: Sequence[Sequence[str]]) -> str:
    """All functions of a kernel of that name; each site by the types of what it works on."""
    declared = "".join(_DECLARATION.substitute(name=name, i=i, types=_types(k)) for i, k in enumerate(sites))
    return declared + _FUNCTIONS.substitute(
        name=name,
        mask=PLACES - 1,
        places=PLACES,
        size=RECORD_BYTES,
        head=HEAD_BYTES,
        progress=PROGRESS,
        products=PRODUCTS,
        cases="".join(_case(name, i, kinds) for i, kinds in enumerate(sites)),
    )


def _case(name: str, number: int, kinds: Sequence[str]) -> str:
    loads = [
        _LOAD.substitute(i=number, j=j, word=FIRST_OPERAND + j, type="i64" if kind == "i1" else kind)
        for j, kind in enumerate(kinds)
    ]
    values = [f"%value{number}.{j}" for j in range(len(kinds))]
    return _CASE.substitute(name=name, i=number, loads="".join(loads), values=", ".join(values), types=_types(kinds))


def _types(kinds: Sequence[str]) -> str:
    """As records have them: truth values are numbers."""
    return ", ".join("i64" if kind == "i1" else kind for kind in kinds)


Act = Callable[["State | None", "list[Value]"], None]
"""Writes what an operation does, with nothing but the values it is given."""
MOST_OPEN = 8
"""Groups of products whose ends a warp remembers."""


class AsyncQueue:
    """The queue of a kernel while its code is written."""

    def __init__(self, kernel: Operation, code: LaneBuilder, arrays: BlockEnv) -> None:
        self._code, self._arrays = code, arrays
        self._name = str(kernel.attributes["sym_name"].value)
        self._seed = seed_of(order_of(kernel))
        self._sites: list[list[str]] = []

    @staticmethod
    def of(kernel: Operation, code: LaneBuilder, arrays: BlockEnv) -> AsyncQueue | None:
        """The queue of a kernel that needs one."""
        return None if order_of(kernel) == EARLY else AsyncQueue(kernel, code, arrays)

    # in warps ---------------------------------------------------------------------------------------------------
    def put(
        self,
        state: State,
        kind: int,
        owner: Value,
        group: Value,
        values: Sequence[Value],
        act: Act,
        *,
        keeps_map: bool = False,
    ) -> None:
        """Do `act` with these values later; the first may be a map, of which the record keeps a copy."""
        code = self._code
        assert len(values) <= MOST_OPERANDS, "a record is too small"
        site = len(self._sites)
        self._sites.append([str(value.type) for value in values])
        self._write_function(site, values, act)
        record = self._call("take", [self.address(state), state.pointer], "!llvm.ptr")
        numbers = {0: code.constant(1, "i32"), 1: code.constant(site, "i32"), 4: code.constant(kind, "i32"), 5: group}
        for word, number in numbers.items():
            code.store(number, code.offset(record, word, "i32"), 4)
        code.store(owner, code.offset(record, 1, "i64"), 8)
        if keeps_map:
            map_then = code.offset(record, OPERAND_BYTES, "i8")
            code.store(code.load(values[0], f"vector<{TENSOR_MAP_BYTES // 4}xi32>", 8), map_then, 8)
            values = [map_then, *values[1:]]
        for i, value in enumerate(values, start=FIRST_OPERAND):
            stored = code.resized(value, "i64") if is_integer(value.type, 1) else value
            code.store(stored, code.offset(record, i, "i64"), 8)

    def _write_function(self, site: int, values: Sequence[Value], act: Act) -> None:
        """The function of an operation; truth values come as numbers."""
        code = self._code
        kinds = [code.type("i64") if is_integer(v.type, 1) else v.type for v in values]
        before = code.insertion
        name = f"{self._name}.late.{site}"
        pointer = code.type("!llvm.ptr")
        function, entry = code.function(self._arrays.module, name, [*kinds, pointer], code.location)
        function.attributes["sym_visibility"] = code.string("private")
        code.enter(entry)
        *given, state = entry.arguments
        named = zip(given, values, strict=True)
        act(State(code, state), [code.resized(g, "i1") if is_integer(v.type, 1) else g for g, v in named])
        code.operation("func.return")
        code.leave(before)

    def run_due(self, state: State, kind: int, owner: Value, before: Value) -> None:
        """Run an owner's operations of groups before this one."""
        kinds = self._code.constant(kind, "i32")
        given = [self.address(state), state.pointer, kinds, owner, before]
        self._code.operation("func.call", given, attributes=self._callee("run_due"))

    # in the scheduler -------------------------------------------------------------------------------------------
    def define(self) -> None:
        """Write the functions, when all operations are known."""
        self._arrays.define(queue_functions(self._name, self._sites))

    def begin(self, frame: LaunchFrame, each_state: Callable[[Callable[[State], None]], None], block: Value) -> None:
        """An empty queue, for the states of all blocks."""
        code = self._code
        memory = frame.memory.allocate(code.type("i8"), QUEUE_BYTES)
        code.store(code.constant(0, "i64"), memory, 8)
        start = code.constant((self._seed or 0) * 0x9E3779B9 + 1, "i64")
        chance = code.value("arith.addi", (start, code.resized(block, "i64")), "i64")
        code.store(chance, code.offset(memory, 1, "i64"), 8)
        each_state(lambda state: code.store(memory, state.place(QUEUE), 8))

    def give_chance(self, state: State) -> None:
        """After each round something may be done, if that is left to chance."""
        if self._seed is not None:
            self._call("run_any", [self.address(state), state.pointer], "i1")

    def run_one(self, state: State) -> Value:
        """Nobody got on: run one operation; whether there was one (i1)."""
        name = "run_oldest" if self._seed is None else "run_any"
        return self._call(name, [self.address(state), state.pointer], "i1")

    def run_all(self, state: State) -> None:
        """The last warp has ended."""
        code = self._code
        rounds = code.operation("scf.while", regions=2)
        before = code.enter(code.append_block(rounds, 0))
        code.operation("scf.condition", (self.run_one(state),))
        code.leave(before)
        before = code.enter(code.append_block(rounds, 1))
        code.operation("scf.yield")
        code.leave(before)

    def address(self, state: State) -> Value:
        """Where the queue is."""
        return self._code.load(state.place(QUEUE), "!llvm.ptr", 8)

    def _call(self, name: str, given: Sequence[Value], result: str) -> Value:
        return self._code.value("func.call", given, result, self._callee(name))

    def _callee(self, name: str) -> dict[str, Attribute]:
        return {"callee": self._code.attribute(f'@"{self._name}.{name}"')}


def defer(
    warp: Warp,
    kind: int,
    values: Sequence[Value],
    act: Act,
    group: Value | None = None,
    *,
    keeps_map: bool = False,
) -> None:
    """Do `act` with these values: at once, or by the queue of a kernel that has one; `group` counts an owner's own.

    `keeps_map`: the first value is a tensor map, which others may change before it is done.
    """
    queue, state = warp.arrays.queue, warp.arrays.state
    if queue is None or state is None:
        act(state, list(values))
        return
    owner = warp.arrays.owner(warp, whole_group=kind == PRODUCTS)
    number = state.get(state.of_warp(warp.number, BULK_GROUPS)) if group is None else group
    queue.put(state, kind, owner, number, values, act, keeps_map=keeps_map)


def defer_umma(warp: Warp, values: Sequence[Value], act: Act) -> None:
    """Do `act` after the products and commits that this warp has issued before."""
    state, number = warp.arrays.state, None
    if warp.arrays.queue is not None and state is not None:
        number = state.get(state.of_warp(warp.number, PRODUCT_GROUPS))
        state.add(state.of_warp(warp.number, PRODUCT_GROUPS), 1)
    defer(warp, UMMAS, values, act, number)


# groups -------------------------------------------------------------------------------------------------------------
def commit_copies(warp: Warp, operation: Operation) -> None:
    """What was stored since the last commit is a group."""
    warp.arrays.observer.sync(warp, operation)
    state = warp.arrays.state
    if warp.arrays.queue is not None and state is not None:
        state.add(state.of_warp(warp.number, BULK_GROUPS), 1)


def wait_for_copies(warp: Warp, operation: Operation) -> None:
    """Run this warp's stores but those of the newest groups."""
    code, state = warp.code, warp.arrays.state
    warp.arrays.observer.sync(warp, operation)
    if warp.arrays.queue is None or state is None:
        return
    newest = code.constant(int(operation.attributes["groups"].value), "i32")
    before = code.value("arith.subi", (state.get(state.of_warp(warp.number, BULK_GROUPS)), newest), "i32")
    warp.arrays.queue.run_due(state, STORES, warp.arrays.owner(warp), before)


def commit_products(warp: Warp, operation: Operation, products: Value | None = None) -> None:
    """Remember how many products (i32) the warpgroup has begun."""
    code, state = warp.code, warp.arrays.state
    if warp.arrays.queue is None or state is None or products is None:
        return
    count = state.get(state.of_warp(warp.number, PRODUCT_GROUPS))
    state.set(_end_of_group(warp, state, count), products)
    more = code.value("arith.addi", (count, code.constant(1, "i32")), "i32")
    state.set(state.of_warp(warp.number, PRODUCT_GROUPS), more)


def wait_for_products(warp: Warp, operation: Operation) -> None:
    """Run the products of the warpgroup but those of the newest groups of this warp."""
    code, state, queue = warp.code, warp.arrays.state, warp.arrays.queue
    warp.arrays.observer.sync(warp, operation)
    if queue is None or state is None:
        return
    newest = min(int(operation.attributes["groups"].value), MOST_OPEN - 1)
    count = state.get(state.of_warp(warp.number, PRODUCT_GROUPS))
    some = code.compare("sgt", count, code.constant(newest, "i32"))
    last = code.value("arith.subi", (count, code.constant(newest + 1, "i32")), "i32")
    when(code, some, partial(_run_products, warp, queue, state, last))


def _run_products(warp: Warp, queue: Background, state: State, group: Value) -> None:
    before = state.get(_end_of_group(warp, state, group))
    queue.run_due(state, PRODUCTS, warp.arrays.owner(warp, whole_group=True), before)


def _end_of_group(warp: Warp, state: State, group: Value) -> Value:
    """Where it is kept how many products there were at the end of a group."""
    code = warp.code
    place = code.value("arith.andi", (group, code.constant(MOST_OPEN - 1, "i32")), "i32")
    return code.value("arith.addi", (state.of_warp(warp.number, PRODUCT_GROUPS + 1), code.resized(place, "i64")), "i64")
