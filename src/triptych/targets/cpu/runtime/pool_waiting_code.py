"""LLVM IR of launches that wait for memory: whether any block could still write what all of them look at.

Part of `pool_code`. A block whose warps all wait tells so after every round of looks. Whenever one that has told it
gets on, or a thread has no more blocks, an epoch begins; who looks in vain in a round that began in the present epoch
has seen all that was written before. When every thread that runs blocks has, no block gets on by itself any more. Then
only somebody outside of the launch could write: `nobody_else_writes` is asked, now and every second.
"""

from __future__ import annotations

WAITING_CODE = """
; Of the launch record: 22 the epoch and, in 24 bits, threads that have looked in vain in it; 23 threads that run
; blocks; 24 threads that may come to do so while there are blocks left; 25 the epoch in which all look in vain; 26
; when to ask.
define internal void @prepare_waiting(ptr %launch) {
  %epoch = getelementptr %launch, ptr %launch, i64 0, i32 22
  store i64 0, ptr %epoch
  %running = getelementptr %launch, ptr %launch, i64 0, i32 23
  store i32 1, ptr %running
  %most = getelementptr %launch, ptr %launch, i64 0, i32 24
  store i32 1, ptr %most
  %vain = getelementptr %launch, ptr %launch, i64 0, i32 25
  store i64 -1, ptr %vain
  %due = getelementptr %launch, ptr %launch, i64 0, i32 26
  store i64 0, ptr %due
  ret void
}

; As many threads as there may be, before any of them begins.
define internal void @expect_threads(ptr %launch, i32 %most) {
  %place = getelementptr %launch, ptr %launch, i64 0, i32 24
  store atomic i32 %most, ptr %place seq_cst, align 4
  ret void
}

define internal void @begin_running(ptr %launch, i32 %threads) {
  %place = getelementptr %launch, ptr %launch, i64 0, i32 23
  %before = atomicrmw add ptr %place, i32 %threads seq_cst
  ret void
}

define internal void @end_running(ptr %launch) {
  %place = getelementptr %launch, ptr %launch, i64 0, i32 23
  %before = atomicrmw sub ptr %place, i32 1 seq_cst
  call void @begin_epoch(ptr %launch)
  ret void
}

define internal void @begin_epoch(ptr %launch) {
entry:
  %place = getelementptr %launch, ptr %launch, i64 0, i32 22
  br label %try
try:
  %word = load atomic i64, ptr %place seq_cst, align 8
  %epoch = lshr i64 %word, 24
  %following = add i64 %epoch, 1
  %new = shl i64 %following, 24
  %exchanged = cmpxchg ptr %place, i64 %word, i64 %new seq_cst seq_cst
  %done = extractvalue { i64, i1 } %exchanged, 1
  br i1 %done, label %leave, label %try
leave:
  ret void
}

; After a round of a block: whether nobody of it got on. Gives 1 when the launch is to end. `mine` belongs to the block:
; the epoch before this round, and one more than the epoch in which it was counted.
define i32 @triptych_kernel_stuck(ptr %launch, i1 %stuck, ptr %mine) noinline {
entry:
  %place = getelementptr %launch, ptr %launch, i64 0, i32 22
  %counted_place = getelementptr i64, ptr %mine, i64 1
  %counted = load i64, ptr %counted_place
  br i1 %stuck, label %look, label %going
going:
  %silent = icmp eq i64 %counted, 0
  br i1 %silent, label %note, label %begin
begin:
  call void @begin_epoch(ptr %launch)
  store i64 0, ptr %counted_place
  br label %note
note:
  %present = load atomic i64, ptr %place seq_cst, align 8
  %present_epoch = lshr i64 %present, 24
  store i64 %present_epoch, ptr %mine
  ret i32 0
look:
  %word = load atomic i64, ptr %place seq_cst, align 8
  %epoch = lshr i64 %word, 24
  %before = load i64, ptr %mine
  store i64 %epoch, ptr %mine
  %whole = icmp eq i64 %before, %epoch
  br i1 %whole, label %vain, label %leave
vain:
  %mark = add i64 %epoch, 1
  %already = icmp eq i64 %counted, %mark
  br i1 %already, label %all, label %count
count:
  %now = load atomic i64, ptr %place seq_cst, align 8
  %now_epoch = lshr i64 %now, 24
  %still = icmp eq i64 %now_epoch, %epoch
  br i1 %still, label %add, label %leave
add:
  %more = add i64 %now, 1
  %exchanged = cmpxchg ptr %place, i64 %now, i64 %more seq_cst seq_cst
  %done = extractvalue { i64, i1 } %exchanged, 1
  br i1 %done, label %keep, label %count
keep:
  store i64 %mark, ptr %counted_place
  br label %all
all:
  %last = load atomic i64, ptr %place seq_cst, align 8
  %last_epoch = lshr i64 %last, 24
  %same = icmp eq i64 %last_epoch, %epoch
  %low = and i64 %last, 16777215
  %vainly = trunc i64 %low to i32
  %running_place = getelementptr %launch, ptr %launch, i64 0, i32 23
  %running = load atomic i32, ptr %running_place seq_cst, align 4
  %every = icmp uge i32 %vainly, %running
  %nobody = and i1 %same, %every
  br i1 %nobody, label %others, label %leave
others:
  ; Threads that have not come yet would run blocks that have not begun.
  %next_place = getelementptr %launch, ptr %launch, i64 0, i32 13
  %next = load atomic i64, ptr %next_place seq_cst, align 8
  %total_place = getelementptr %launch, ptr %launch, i64 0, i32 2
  %total = load i64, ptr %total_place
  %begun = icmp sge i64 %next, %total
  %most_place = getelementptr %launch, ptr %launch, i64 0, i32 24
  %most = load atomic i32, ptr %most_place seq_cst, align 4
  %there = icmp uge i32 %running, %most
  %settled = or i1 %begun, %there
  br i1 %settled, label %ask, label %leave
ask:
  %over = call i32 @ask_later(ptr %launch, i64 %epoch)
  ret i32 %over
leave:
  ret i32 0
}

define internal i32 @ask_later(ptr %launch, i64 %epoch) noinline {
entry:
  %vain_place = getelementptr %launch, ptr %launch, i64 0, i32 25
  %due_place = getelementptr %launch, ptr %launch, i64 0, i32 26
  %time = call i64 @now()
  %later = add i64 %time, 1000000000
  %vain = load atomic i64, ptr %vain_place seq_cst, align 8
  %known = icmp eq i64 %vain, %epoch
  br i1 %known, label %look, label %new
new:
  store atomic i64 %later, ptr %due_place seq_cst, align 8
  store atomic i64 %epoch, ptr %vain_place seq_cst, align 8
  ret i32 0
look:
  %due = load atomic i64, ptr %due_place seq_cst, align 8
  %early = icmp slt i64 %time, %due
  br i1 %early, label %leave, label %take
take:
  %exchanged = cmpxchg ptr %due_place, i64 %due, i64 %later seq_cst seq_cst
  %mine = extractvalue { i64, i1 } %exchanged, 1
  br i1 %mine, label %ask, label %leave
ask:
  %answer = call i32 @nobody_else_writes(ptr %launch)
  ret i32 %answer
leave:
  ret i32 0
}
"""
