"""LLVM IR of cooperative launches and of waiting for memory. Part of `pool_code`.

Blocks of such a launch wait for each other, so none may wait for a thread. All threads are made, and each has the
memory of a block, before the first block begins: a launch that the system has no room for has done nothing. The threads
end with the launch; a block that waits asks for a poll now and then, and gives way there.
"""

from __future__ import annotations

from triptych.targets.cpu.abi.system import ALLOCATE

_STACK = 1 << 20
"""Bytes of a thread's stack, as of the pool's workers."""

COOPERATIVE_CODE = f"""
; Of the launch record: 16 state (0 not cooperative, 1 threads gather, 2 blocks run, 3 given up), 17 threads that are
; ready, 18 threads without memory, 19 threads that have not ended.
declare i32 @pthread_attr_init(ptr)
declare i32 @pthread_attr_setstacksize(ptr, i64)
declare i32 @pthread_attr_destroy(ptr)
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
declare i32 @sched_yield()

define internal void @prepare_cooperation(ptr %launch, i32 %cooperative) {{
  %state = getelementptr %launch, ptr %launch, i64 0, i32 16
  store i32 %cooperative, ptr %state
  %ready = getelementptr %launch, ptr %launch, i64 0, i32 17
  store i32 0, ptr %ready
  %failed = getelementptr %launch, ptr %launch, i64 0, i32 18
  store i32 0, ptr %failed
  %left = getelementptr %launch, ptr %launch, i64 0, i32 19
  store i32 0, ptr %left
  ret void
}}

; At a poll: what a block waits for may need this core.
define internal void @give_way(ptr %launch) {{
entry:
  %state_place = getelementptr %launch, ptr %launch, i64 0, i32 16
  %state = load atomic i32, ptr %state_place monotonic, align 4
  %alone = icmp eq i32 %state, 0
  br i1 %alone, label %leave, label %yield
yield:
  %yielded = call i32 @sched_yield()
  br label %leave
leave:
  ret void
}}

; The next block of the launch, in the order that is set.
define internal void @run_next(ptr %launch) {{
  %next_place = getelementptr %launch, ptr %launch, i64 0, i32 13
  %begin = atomicrmw add ptr %next_place, i64 1 monotonic
  %end = add i64 %begin, 1
  call void @run_blocks(ptr %launch, i64 %begin, i64 %end)
  ret void
}}

; The life of a thread that has one block.
define internal ptr @cooperate(ptr %launch) {{
entry:
  %key = load %thread_key, ptr @launch_key
  %known = call i32 @pthread_setspecific(%thread_key %key, ptr %launch)
  %state = getelementptr %launch, ptr %launch, i64 0, i32 16
  %room = call i1 @reserve_memory(ptr %launch)
  %ready = getelementptr %launch, ptr %launch, i64 0, i32 17
  %failed = getelementptr %launch, ptr %launch, i64 0, i32 18
  %count = select i1 %room, ptr %ready, ptr %failed
  %told = atomicrmw add ptr %count, i32 1 seq_cst
  br label %wait
wait:
  %now = load atomic i32, ptr %state seq_cst, align 4
  %gathering = icmp eq i32 %now, 1
  br i1 %gathering, label %again, label %begin
again:
  %yielded = call i32 @sched_yield()
  br label %wait
begin:
  %runs = icmp eq i32 %now, 2
  br i1 %runs, label %run, label %leave
run:
  call void @run_next(ptr %launch)
  call void @end_running(ptr %launch)
  br label %leave
leave:
  %forgotten = call i32 @pthread_setspecific(%thread_key %key, ptr null)
  %left = getelementptr %launch, ptr %launch, i64 0, i32 19
  %ended = atomicrmw sub ptr %left, i32 1 seq_cst
  ret ptr null
}}

; Gives false when the system has no threads or no memory for all blocks; then none has begun.
define internal i1 @run_cooperatively(ptr %launch) {{
entry:
  %attributes = alloca [128 x i8], align 16
  %initialized = call i32 @pthread_attr_init(ptr %attributes)
  %sized = call i32 @pthread_attr_setstacksize(ptr %attributes, i64 {_STACK})
  %total_place = getelementptr %launch, ptr %launch, i64 0, i32 2
  %total = load i64, ptr %total_place
  %wanted = sub i64 %total, 1 ; the calling thread runs one itself
  %lines = lshr i64 %wanted, 3
  %rounded = add i64 %lines, 1
  %bytes = shl i64 %rounded, 6
  %threads = call ptr @{ALLOCATE}(i64 64, i64 %bytes)
  %state = getelementptr %launch, ptr %launch, i64 0, i32 16
  %ready_place = getelementptr %launch, ptr %launch, i64 0, i32 17
  %failed_place = getelementptr %launch, ptr %launch, i64 0, i32 18
  %left_place = getelementptr %launch, ptr %launch, i64 0, i32 19
  %listed = icmp ne ptr %threads, null
  br i1 %listed, label %make, label %gather
make:
  %made = phi i64 [ 0, %entry ], [ %more, %started ]
  %enough = icmp eq i64 %made, %wanted
  br i1 %enough, label %gather, label %start
start:
  %place = getelementptr i64, ptr %threads, i64 %made
  %status = call i32 @pthread_create(ptr %place, ptr %attributes, ptr @cooperate, ptr %launch)
  %created = icmp eq i32 %status, 0
  br i1 %created, label %started, label %gather
started:
  %counted = atomicrmw add ptr %left_place, i32 1 seq_cst
  %more = add i64 %made, 1
  br label %make
gather:
  %there = phi i64 [ 0, %entry ], [ %made, %make ], [ %made, %start ]
  br label %gathering
gathering:
  %ready = load atomic i32, ptr %ready_place seq_cst, align 4
  %failed = load atomic i32, ptr %failed_place seq_cst, align 4
  %known = add i32 %ready, %failed
  %known_wide = zext i32 %known to i64
  %all = icmp eq i64 %known_wide, %there
  br i1 %all, label %decide, label %again
again:
  %yielded = call i32 @sched_yield()
  br label %gathering
decide:
  %ready_wide = zext i32 %ready to i64
  %complete = icmp eq i64 %ready_wide, %wanted
  %decision = select i1 %complete, i32 2, i32 3
  %together = trunc i64 %total to i32
  %others = sub i32 %together, 1
  call void @expect_threads(ptr %launch, i32 %together)
  call void @begin_running(ptr %launch, i32 %others)
  store atomic i32 %decision, ptr %state seq_cst, align 4
  br i1 %complete, label %own, label %wait
own:
  call void @run_next(ptr %launch)
  call void @end_running(ptr %launch)
  br label %wait
wait:
  %left = load atomic i32, ptr %left_place seq_cst, align 4
  %over = icmp eq i32 %left, 0
  br i1 %over, label %join, label %look
look:
  %polled = call i32 @triptych_poll(ptr %launch)
  br label %wait
join:
  %number = phi i64 [ 0, %wait ], [ %next, %joined ]
  %none = icmp eq i64 %number, %there
  br i1 %none, label %leave, label %joined
joined:
  %thread_place = getelementptr i64, ptr %threads, i64 %number
  %thread = load i64, ptr %thread_place
  %ended = call i32 @pthread_join(i64 %thread, ptr null)
  %next = add i64 %number, 1
  br label %join
leave:
  %destroyed = call i32 @pthread_attr_destroy(ptr %attributes)
  call void @free(ptr %threads)
  ret i1 %complete
}}
"""

# LLVM IR of launches that wait for memory: whether any block could still write what all of them look at. A block whose
# warps all wait tells so after every round of looks. Whenever one that has told it gets on, or a thread has no more
# blocks, an epoch begins; who looks in vain in a round that began in the present epoch has seen all that was written
# before. When every thread that runs blocks has, no block gets on by itself any more. Then only somebody outside of the
# launch could write: `nobody_else_writes` is asked, now and every second.

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
