"""Functions of the checking build, as MLIR text: who touches memory that is under way, and what was not fenced.

A queue's live records say which stretches of shared memory they write or read. A shadow word for every 16 bytes says
which warp wrote them last by its own stores, and how many fences it had passed then.
"""

from __future__ import annotations

from string import Template

from triptych.targets.cpu.emit.barrier_state import FENCES, WAITING, WARP_WORDS
from triptych.targets.cpu.emit.queue_functions import LINE_WORD, LOADS, RANGE_WORDS

SHADOW_PIECE = 16
SHADOW_BYTES = (1 << 18) // SHADOW_PIECE * 4
"""Of one block: more shared memory than any machine has."""
WRITER_SHIFT = 24

_FUNCTIONS = Template("""
func.func private @"$name.slot"(!llvm.ptr, i32) -> !llvm.ptr
func.func private @"$name.overlap"(%queue: !llvm.ptr, %low: i64, %bytes: i64, %writes: i1) -> i32
    attributes {llvm.passthrough = ["noinline", "nounwind"]} {
  %one = arith.constant 1 : i32
  %zero = arith.constant 0 : i32
  %none = arith.constant -1 : i32
  %loads = arith.constant $loads : i32
  %high = arith.addi %low, %bytes : i64
  %head = llvm.load %queue {alignment = 8 : i64} : !llvm.ptr -> i32
  %tail_at = llvm.getelementptr %queue[1] : (!llvm.ptr) -> !llvm.ptr, i32
  %tail = llvm.load %tail_at {alignment = 4 : i64} : !llvm.ptr -> i32
  %found = scf.for %i = %head to %tail step %one iter_args(%best = %none) -> (i32) : i32 {
    %record = func.call @"$name.slot"(%queue, %i) : (!llvm.ptr, i32) -> !llvm.ptr
    %live = llvm.load %record {alignment = 8 : i64} : !llvm.ptr -> i32
    %lives = arith.cmpi ne, %live, %zero : i32
    %kind_at = llvm.getelementptr %record[4] : (!llvm.ptr) -> !llvm.ptr, i32
    %kind = llvm.load %kind_at {alignment = 8 : i64} : !llvm.ptr -> i32
    %is_load = arith.cmpi eq, %kind, %loads : i32
    %either = arith.ori %is_load, %writes : i1
    $ranges
    %touches = arith.ori %inside0, %inside1 : i1
    %matters = arith.andi %lives, %either : i1
    %conflict = arith.andi %matters, %touches : i1
    %line_at = llvm.getelementptr %record[$line] : (!llvm.ptr) -> !llvm.ptr, i64
    %line = llvm.load %line_at {alignment = 8 : i64} : !llvm.ptr -> i32
    %next = arith.select %conflict, %line, %best : i32
    scf.yield %next : i32
  }
  func.return %found : i32
}
func.func private @"$name.check_lanes"(%queue: !llvm.ptr, %addresses: !llvm.ptr, %mask: i64, %bytes: i64, %writes: i1,
    %lanes: i64) -> i32 attributes {llvm.passthrough = ["noinline", "nounwind"]} {
  %one = arith.constant 1 : i64
  %zero = arith.constant 0 : i64
  %none = arith.constant -1 : i32
  %nobody = arith.constant 0 : i32
  %shift = arith.constant 16 : i32
  %found = scf.for %lane = %zero to %lanes step %one iter_args(%best = %none) -> (i32) : i64 {
    %moved = arith.shrui %mask, %lane : i64
    %bit = arith.andi %moved, %one : i64
    %active = arith.cmpi ne, %bit, %zero : i64
    %next = scf.if %active -> (i32) {
      %at = llvm.getelementptr %addresses[%lane] : (!llvm.ptr, i64) -> !llvm.ptr, i64
      %address = llvm.load %at {alignment = 8 : i64} : !llvm.ptr -> i64
      %line = func.call @"$name.overlap"(%queue, %address, %bytes, %writes) : (!llvm.ptr, i64, i64, i1) -> i32
      %bad = arith.cmpi sge, %line, %nobody : i32
      %narrow = arith.trunci %lane : i64 to i32
      %high = arith.shli %narrow, %shift : i32
      %both = arith.ori %high, %line : i32
      %chosen = arith.select %bad, %both, %best : i32
      scf.yield %chosen : i32
    } else {
      scf.yield %best : i32
    }
    scf.yield %next : i32
  }
  func.return %found : i32
}
func.func private @"$name.mark"(%shadow: !llvm.ptr, %base: i64, %low: i64, %bytes: i64, %value: i32)
    attributes {llvm.passthrough = ["noinline", "nounwind"]} {
  %one = arith.constant 1 : i64
  %piece = arith.constant $piece : i64
  %limit = arith.constant $limit : i64
  %begin = arith.subi %low, %base : i64
  %end = arith.addi %begin, %bytes : i64
  %last = arith.subi %end, %one : i64
  %from = arith.divui %begin, %piece : i64
  %to = arith.divui %last, %piece : i64
  %after = arith.addi %to, %one : i64
  %fits = arith.cmpi ult, %to, %limit : i64
  scf.if %fits {
    scf.for %i = %from to %after step %one : i64 {
      %at = llvm.getelementptr %shadow[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i32
      llvm.store %value, %at {alignment = 4 : i64} : i32, !llvm.ptr
    }
  }
  func.return
}
func.func private @"$name.mark_lanes"(%shadow: !llvm.ptr, %base: i64, %addresses: !llvm.ptr, %mask: i64, %bytes: i64,
    %value: i32, %lanes: i64) attributes {llvm.passthrough = ["noinline", "nounwind"]} {
  %one = arith.constant 1 : i64
  %zero = arith.constant 0 : i64
  scf.for %lane = %zero to %lanes step %one : i64 {
    %moved = arith.shrui %mask, %lane : i64
    %bit = arith.andi %moved, %one : i64
    %active = arith.cmpi ne, %bit, %zero : i64
    scf.if %active {
      %at = llvm.getelementptr %addresses[%lane] : (!llvm.ptr, i64) -> !llvm.ptr, i64
      %address = llvm.load %at {alignment = 8 : i64} : !llvm.ptr -> i64
      func.call @"$name.mark"(%shadow, %base, %address, %bytes, %value) : (!llvm.ptr, i64, i64, i64, i32) -> ()
    }
  }
  func.return
}
func.func private @"$name.unfenced"(%shadow: !llvm.ptr, %base: i64, %state: !llvm.ptr, %low: i64, %bytes: i64) -> i32
    attributes {llvm.passthrough = ["noinline", "nounwind"]} {
  %one = arith.constant 1 : i64
  %none = arith.constant -1 : i32
  %zero = arith.constant 0 : i32
  %unit = arith.constant 1 : i32
  %shift = arith.constant $shift : i32
  %field = arith.constant $field : i32
  %words = arith.constant $words : i32
  %fence_word = arith.constant $fences : i32
  %piece = arith.constant $piece : i64
  %begin = arith.subi %low, %base : i64
  %end = arith.addi %begin, %bytes : i64
  %from = arith.divui %begin, %piece : i64
  %to = arith.ceildivui %end, %piece : i64
  %found = scf.for %i = %from to %to step %one iter_args(%best = %none) -> (i32) : i64 {
    %at = llvm.getelementptr %shadow[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i32
    %word = llvm.load %at {alignment = 4 : i64} : !llvm.ptr -> i32
    %written = arith.cmpi ne, %word, %zero : i32
    %next = scf.if %written -> (i32) {
      %number = arith.shrui %word, %shift : i32
      %warp = arith.subi %number, %unit : i32
      %first = arith.muli %warp, %words : i32
      %place = arith.addi %first, %fence_word : i32
      %count_at = llvm.getelementptr %state[%place] : (!llvm.ptr, i32) -> !llvm.ptr, i32
      %count = llvm.load %count_at {alignment = 4 : i64} : !llvm.ptr -> i32
      %now = arith.andi %count, %field : i32
      %then = arith.andi %word, %field : i32
      %same = arith.cmpi eq, %now, %then : i32
      %chosen = arith.select %same, %warp, %best : i32
      scf.yield %chosen : i32
    } else {
      scf.yield %best : i32
    }
    scf.yield %next : i32
  }
  func.return %found : i32
}""")
_RANGE = Template("""
    %low_at$i = llvm.getelementptr %record[$low] : (!llvm.ptr) -> !llvm.ptr, i64
    %from$i = llvm.load %low_at$i {alignment = 8 : i64} : !llvm.ptr -> i64
    %high_at$i = llvm.getelementptr %record[$high] : (!llvm.ptr) -> !llvm.ptr, i64
    %until$i = llvm.load %high_at$i {alignment = 8 : i64} : !llvm.ptr -> i64
    %below$i = arith.cmpi ult, %low, %until$i : i64
    %above$i = arith.cmpi ult, %from$i, %high : i64
    %inside$i = arith.andi %below$i, %above$i : i1""")


def check_functions(name: str) -> str:
    """All of them, for a kernel of that name."""
    ranges = (_RANGE.substitute(i=i, low=RANGE_WORDS + 2 * i, high=RANGE_WORDS + 2 * i + 1) for i in range(2))
    return _FUNCTIONS.substitute(
        name=name,
        loads=LOADS,
        line=LINE_WORD,
        ranges="".join(ranges),
        piece=SHADOW_PIECE,
        limit=SHADOW_BYTES // 4,
        shift=WRITER_SHIFT,
        field=(1 << WRITER_SHIFT) - 1,
        words=WARP_WORDS,
        fences=WAITING + FENCES,
    )
