"""Queue functions of asynchronous operations, as MLIR text: take a slot, run what is due.

A queue is two numbers, those of its oldest place and of the one after the newest, the state of chance, and a ring of
records. A record: whether its operation is still to be done, which one it is, whose, of which kind and group; then what
it works on. Products of one owner are done in their order, everything else in any.
"""

from __future__ import annotations

from collections.abc import Sequence
from string import Template

from triptych.targets.cpu.emit.barrier_state import PROGRESS

HEAD_BYTES, RECORD_BYTES, PLACES = 64, 128, 256
QUEUE_BYTES = HEAD_BYTES + RECORD_BYTES * PLACES
FIRST_OPERAND = 3
"""The word of eight bytes in which operands begin."""
MOST_OPERANDS = 8
LOADS, STORES, PRODUCTS = range(3)

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
    %in_order = arith.cmpi eq, %kind, %products : i32
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
