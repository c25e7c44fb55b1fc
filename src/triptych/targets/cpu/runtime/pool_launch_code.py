"""LLVM IR of a launch: running its blocks in chunks, alone or together with the workers. Part of `pool_code`."""

from __future__ import annotations

LAUNCH_CODE = """
; Gives 0; 1 when there is no memory for a block; -1 when something ended the launch early and is raised.
define i32 @triptych_launch(ptr %chunk, ptr %packed, i64 %total, i32 %block_x, i32 %block_y, ptr %identity,
                            i64 %bytes, i32 %cooperative) noinline {
entry:
  %launch = alloca %launch, align 64
  %nothing = icmp slt i64 %total, 1
  br i1 %nothing, label %succeeded, label %fill
fill:
  store ptr %chunk, ptr %launch
  %packed_place = getelementptr %launch, ptr %launch, i64 0, i32 1
  store ptr %packed, ptr %packed_place
  %total_place = getelementptr %launch, ptr %launch, i64 0, i32 2
  store i64 %total, ptr %total_place
  %self = call i64 @pthread_self()
  %caller_place = getelementptr %launch, ptr %launch, i64 0, i32 3
  store i64 %self, ptr %caller_place
  %look_place = getelementptr %launch, ptr %launch, i64 0, i32 4
  store i64 0, ptr %look_place
  %exception_place = getelementptr %launch, ptr %launch, i64 0, i32 5
  store ptr null, ptr %exception_place
  %stop_place = getelementptr %launch, ptr %launch, i64 0, i32 20
  store ptr null, ptr %stop_place
  %x_place = getelementptr %launch, ptr %launch, i64 0, i32 9
  store i32 %block_x, ptr %x_place
  %y_place = getelementptr %launch, ptr %launch, i64 0, i32 10
  store i32 %block_y, ptr %y_place
  %stopped_place = getelementptr %launch, ptr %launch, i64 0, i32 11
  store i32 0, ptr %stopped_place
  %waiting_place = getelementptr %launch, ptr %launch, i64 0, i32 21
  store i32 0, ptr %waiting_place
  %next_place = getelementptr %launch, ptr %launch, i64 0, i32 13
  store i64 0, ptr %next_place
  %identity_place = getelementptr %launch, ptr %launch, i64 0, i32 14
  store ptr %identity, ptr %identity_place
  %bytes_place = getelementptr %launch, ptr %launch, i64 0, i32 15
  store i64 %bytes, ptr %bytes_place
  call void @prepare_cooperation(ptr %launch, i32 %cooperative)
  call void @prepare_waiting(ptr %launch)
  %key = load %thread_key, ptr @launch_key
  %outer = call ptr @pthread_getspecific(%thread_key %key) ; not null when a kernel here has called Python code
  %aside = call ptr @set_memory_aside(ptr %outer)
  %room = call i1 @reserve_memory(ptr %launch)
  br i1 %room, label %begin, label %no_room
no_room:
  call void @take_memory_back(ptr %outer, ptr %aside)
  ret i32 1
begin:
  %latest_blocks = getelementptr i64, ptr @latest, i64 1
  store i64 %total, ptr %latest_blocks
  store ptr %identity, ptr @latest
  %latest_count = getelementptr i64, ptr @latest, i64 2
  %one_more = atomicrmw add ptr %latest_count, i64 1 monotonic
  %known = call i32 @pthread_setspecific(%thread_key %key, ptr %launch)
  %single = icmp eq i64 %total, 1
  br i1 %single, label %one, label %several
one:
  call void %chunk(ptr %packed, i64 0, i64 1, ptr %launch)
  br label %finish
several:
  %as_one = icmp ne i32 %cooperative, 0
  br i1 %as_one, label %cooperate, label %independent
cooperate:
  %began = call i1 @run_cooperatively(ptr %launch)
  br i1 %began, label %finish, label %not_begun
not_begun:
  call void @release_memory(ptr %launch)
  call void @take_memory_back(ptr %outer, ptr %aside)
  %forgotten = call i32 @pthread_setspecific(%thread_key %key, ptr %outer)
  ret i32 1
independent:
  %threads = load i64, ptr @threads
  %alone = icmp eq i64 %threads, 1
  br i1 %alone, label %inline, label %ask
ask:
  %elsewhere = call i1 @run_elsewhere(ptr %launch)
  br i1 %elsewhere, label %finish, label %reserve
reserve:
  %reserved = cmpxchg ptr @busy, i32 0, i32 1 seq_cst seq_cst
  %free = extractvalue { i32, i1 } %reserved, 1
  br i1 %free, label %together, label %inline
together:
  call void @run_together(ptr %launch)
  br label %finish
inline:
  call void @run(ptr %launch)
  br label %finish
finish:
  store ptr null, ptr @latest
  call void @release_memory(ptr %launch)
  call void @take_memory_back(ptr %outer, ptr %aside)
  %left = call i32 @pthread_setspecific(%thread_key %key, ptr %outer)
  %stopped = load atomic i32, ptr %stopped_place acquire, align 4
  %whole = icmp eq i32 %stopped, 0
  br i1 %whole, label %succeeded, label %failed
failed:
  call void @raise_cause(ptr %launch)
  ret i32 -1
succeeded:
  ret i32 0
}

; The caller and all workers that are awake in time. The pool is reserved for this launch.
define internal void @run_together(ptr %launch) {
entry:
  %started = load i32, ptr @started
  %exist = icmp ne i32 %started, 0
  br i1 %exist, label %publish, label %start
start:
  %count = call i32 @start_workers(ptr %launch)
  store i32 %count, ptr @started
  br label %publish
publish:
  %workers = load i32, ptr @started
  %most = add i32 %workers, 1
  call void @expect_threads(ptr %launch, i32 %most)
  store atomic ptr %launch, ptr @current seq_cst, align 8
  %counted = atomicrmw add ptr @generation, i64 1 seq_cst
  call void @wake_workers()
  call void @run(ptr %launch)
  call void @end_running(ptr %launch)
  store atomic ptr null, ptr @current seq_cst, align 8
  call void @wait_for_workers(ptr %launch)
  store atomic i32 0, ptr @busy release, align 4
  ret void
}

; Runs chunks of blocks until none is left. A chunk takes about 50 us to 2 ms where a block itself is not longer, so
; that a fault and a signal are noticed soon, and is at most a quarter of a fair share, so that threads end together.
define internal void @run(ptr %launch) {
entry:
  %total_place = getelementptr %launch, ptr %launch, i64 0, i32 2
  %total = load i64, ptr %total_place
  %stopped_place = getelementptr %launch, ptr %launch, i64 0, i32 11
  %next_place = getelementptr %launch, ptr %launch, i64 0, i32 13
  %threads = load i64, ptr @threads
  %shares = shl i64 %threads, 2
  %start = call i64 @now()
  br label %take
take:
  %size = phi i64 [ 1, %entry ], [ %next_size, %measure ]
  %before = phi i64 [ %start, %entry ], [ %after, %measure ]
  %stopped = load atomic i32, ptr %stopped_place monotonic, align 4
  %stop = icmp ne i32 %stopped, 0
  br i1 %stop, label %leave, label %claim
claim:
  %begin = atomicrmw add ptr %next_place, i64 %size monotonic
  %left = sub i64 %total, %begin
  %some = icmp sgt i64 %left, 0
  br i1 %some, label %execute, label %leave
execute:
  %count = call i64 @llvm.smin.i64(i64 %size, i64 %left)
  %end = add i64 %begin, %count
  call void @run_blocks(ptr %launch, i64 %begin, i64 %end)
  %remaining = sub i64 %total, %end
  %more = icmp sgt i64 %remaining, 0
  br i1 %more, label %measure, label %leave
measure:
  %after = call i64 @now()
  %taken = sub i64 %after, %before
  %quick = icmp slt i64 %taken, 50000
  %slow = icmp sgt i64 %taken, 2000000
  %doubled = shl i64 %size, 1
  %halved = lshr i64 %size, 1
  %grown = select i1 %quick, i64 %doubled, i64 %size
  %fitting = select i1 %slow, i64 %halved, i64 %grown
  %share = udiv i64 %remaining, %shares
  %bounded = call i64 @llvm.smin.i64(i64 %fitting, i64 %share)
  %next_size = call i64 @llvm.smax.i64(i64 %bounded, i64 1)
  %polled = call i32 @poll_at(ptr %launch, i64 %after)
  br label %take
leave:
  ret void
}

; The blocks at places begin to end of the order.
define internal void @run_blocks(ptr %launch, i64 %begin, i64 %end) {
entry:
  %chunk = load ptr, ptr %launch
  %packed_place = getelementptr %launch, ptr %launch, i64 0, i32 1
  %packed = load ptr, ptr %packed_place
  %total_place = getelementptr %launch, ptr %launch, i64 0, i32 2
  %total = load i64, ptr %total_place
  %stopped_place = getelementptr %launch, ptr %launch, i64 0, i32 11
  %multiplier = load i64, ptr @multiplier
  %offset = load i64, ptr @offset
  %ordered = icmp eq i64 %multiplier, 0
  %large = icmp sgt i64 %total, 2147483647
  %together = or i1 %ordered, %large
  br i1 %together, label %whole, label %each
whole:
  call void %chunk(ptr %packed, i64 %begin, i64 %end, ptr %launch)
  ret void
each:
  %place = phi i64 [ %begin, %entry ], [ %next, %each ]
  %product = mul i64 %place, %multiplier
  %moved = add i64 %product, %offset
  %block = urem i64 %moved, %total
  %after = add i64 %block, 1
  call void %chunk(ptr %packed, i64 %block, i64 %after, ptr %launch)
  %next = add i64 %place, 1
  %more = icmp slt i64 %next, %end
  %stopped = load atomic i32, ptr %stopped_place monotonic, align 4
  %runs = icmp eq i32 %stopped, 0
  %again = and i1 %more, %runs
  br i1 %again, label %each, label %leave
leave:
  ret void
}
"""
