"""LLVM IR of the workers: waiting for a launch, joining it, leaving it and ending it early. Part of `pool_code`."""

from __future__ import annotations

WORKER_CODE = """
; The life of a worker: wait for a launch, join it, run blocks, leave.
define void @triptych_pool_work() {
entry:
  call void @make_room()
  br label %wait
wait:
  %seen = phi i64 [ 0, %entry ], [ %found, %rest ]
  %found = call i64 @wait_for_launch(i64 %seen)
  %ending = load atomic i32, ptr @ending seq_cst, align 4
  %over = icmp ne i32 %ending, 0
  br i1 %over, label %end, label %enter
enter:
  ; Joined before looking: the caller withdraws its launch and then waits for all who have joined.
  %joined = atomicrmw add ptr @active, i32 1 seq_cst
  %launch = load atomic ptr, ptr @current seq_cst, align 8
  %withdrawn = icmp eq ptr %launch, null
  br i1 %withdrawn, label %rest, label %join
join:
  call void @wake_workers()
  call void @run_as_part(ptr %launch, ptr null)
  br label %rest
rest:
  call void @leave_launch()
  br label %wait
end:
  ret void
}

; Runs blocks with memory of its own; the thread then belongs to `outer` again, a launch or none.
define internal void @run_as_part(ptr %launch, ptr %outer) {
entry:
  %key = load %thread_key, ptr @launch_key
  %known = call i32 @pthread_setspecific(%thread_key %key, ptr %launch)
  %room = call i1 @reserve_memory(ptr %launch)
  br i1 %room, label %run, label %leave
run:
  call void @begin_running(ptr %launch, i32 1)
  call void @run(ptr %launch)
  call void @end_running(ptr %launch)
  call void @release_memory(ptr %launch)
  br label %leave
leave:
  %left = call i32 @pthread_setspecific(%thread_key %key, ptr %outer)
  ret void
}

; Spins for a time that a parked thread would need to wake up, then parks. Gives the generation found.
define internal i64 @wait_for_launch(i64 %seen) {
entry:
  br label %spin
spin:
  %tries = phi i32 [ 0, %entry ], [ %tried, %again ]
  %generation = load atomic i64, ptr @generation seq_cst, align 8
  %new = icmp ne i64 %generation, %seen
  br i1 %new, label %found, label %again
again:
  call void @relax()
  %tried = add i32 %tries, 1
  %enough = icmp eq i32 %tried, 1000
  br i1 %enough, label %park, label %spin
park:
  %locked = call i32 @pthread_mutex_lock(ptr @mutex)
  %sleeping = atomicrmw add ptr @sleepers, i32 1 seq_cst
  br label %check
check:
  %current = load atomic i64, ptr @generation seq_cst, align 8
  %changed = icmp ne i64 %current, %seen
  br i1 %changed, label %wake, label %sleep
sleep:
  %woken = call i32 @pthread_cond_wait(ptr @work, ptr @mutex)
  br label %check
wake:
  %awake = atomicrmw sub ptr @sleepers, i32 1 seq_cst
  %unlocked = call i32 @pthread_mutex_unlock(ptr @mutex)
  ret i64 %current
found:
  ret i64 %generation
}

; Wakes two; each of them wakes two more, so that the caller's share of the waking stays small on large machines.
define internal void @wake_workers() {
entry:
  %sleepers = load atomic i32, ptr @sleepers seq_cst, align 4
  %some = icmp sgt i32 %sleepers, 0
  br i1 %some, label %wake, label %leave
wake:
  %locked = call i32 @pthread_mutex_lock(ptr @mutex)
  %first = call i32 @pthread_cond_signal(ptr @work)
  %second = call i32 @pthread_cond_signal(ptr @work)
  %unlocked = call i32 @pthread_mutex_unlock(ptr @mutex)
  ret void
leave:
  ret void
}

define internal void @leave_launch() {
entry:
  %before = atomicrmw sub ptr @active, i32 1 seq_cst
  %last = icmp eq i32 %before, 1
  %waiting = load atomic i32, ptr @waiting seq_cst, align 4
  %parked = icmp ne i32 %waiting, 0
  %awaited = and i1 %last, %parked
  br i1 %awaited, label %tell, label %leave
tell:
  %locked = call i32 @pthread_mutex_lock(ptr @mutex)
  %told = call i32 @pthread_cond_signal(ptr @done)
  %unlocked = call i32 @pthread_mutex_unlock(ptr @mutex)
  ret void
leave:
  ret void
}

; The caller has no blocks left and the launch is withdrawn. Parked, it still looks at signals now and then.
define internal void @wait_for_workers(ptr %launch) {
entry:
  %deadline = alloca { i64, i64 }
  br label %spin
spin:
  %tries = phi i32 [ 0, %entry ], [ %tried, %again ]
  %active = load atomic i32, ptr @active seq_cst, align 4
  %over = icmp eq i32 %active, 0
  br i1 %over, label %leave, label %again
again:
  call void @relax()
  %tried = add i32 %tries, 1
  %enough = icmp eq i32 %tried, 1000
  br i1 %enough, label %park, label %spin
park:
  %wall = call i64 @nanoseconds(i32 0) ; the clock of the day, by which conditions measure
  %until = add i64 %wall, 50000000
  %seconds = udiv i64 %until, 1000000000
  %fraction = urem i64 %until, 1000000000
  store i64 %seconds, ptr %deadline
  %fraction_place = getelementptr i64, ptr %deadline, i64 1
  store i64 %fraction, ptr %fraction_place
  %locked = call i32 @pthread_mutex_lock(ptr @mutex)
  store atomic i32 1, ptr @waiting seq_cst, align 4
  %still = load atomic i32, ptr @active seq_cst, align 4
  %busy = icmp ne i32 %still, 0
  br i1 %busy, label %sleep, label %wake
sleep:
  %slept = call i32 @pthread_cond_timedwait(ptr @done, ptr @mutex, ptr %deadline)
  br label %wake
wake:
  store atomic i32 0, ptr @waiting seq_cst, align 4
  %unlocked = call i32 @pthread_mutex_unlock(ptr @mutex)
  %polled = call i32 @triptych_poll(ptr %launch)
  %now_active = load atomic i32, ptr @active seq_cst, align 4
  %now_over = icmp eq i32 %now_active, 0
  br i1 %now_over, label %leave, label %park
leave:
  ret void
}
"""


# LLVM IR of what ends a launch early: the first fault is kept, and loops ask whether there is one.

STOP_CODE = """
; Keeps the first fault of a launch. `where` is block x, y, z and the thread, or null.
define void @triptych_kernel_fault(ptr %launch, ptr %name, ptr %text, ptr %where) cold noinline {
entry:
  %stopped_place = getelementptr %launch, ptr %launch, i64 0, i32 11
  %exchanged = cmpxchg ptr %stopped_place, i32 0, i32 1 seq_cst seq_cst
  %first = extractvalue { i32, i1 } %exchanged, 1
  br i1 %first, label %keep, label %leave
keep:
  %name_place = getelementptr %launch, ptr %launch, i64 0, i32 6
  store ptr %name, ptr %name_place
  %text_place = getelementptr %launch, ptr %launch, i64 0, i32 7
  store ptr %text, ptr %text_place
  %where_place = getelementptr %launch, ptr %launch, i64 0, i32 8
  %unknown = icmp eq ptr %where, null
  br i1 %unknown, label %nowhere, label %somewhere
somewhere:
  %numbers = load [4 x i32], ptr %where
  store [4 x i32] %numbers, ptr %where_place
  call void @remember_fault(ptr %launch)
  ret void
nowhere:
  store [4 x i32] [i32 -1, i32 -1, i32 -1, i32 -1], ptr %where_place
  ret void
leave:
  ret void
}

; Keeps who waits for whom, of the first block in which nobody gets on: 263 words. The word before them says that.
define void @triptych_kernel_waiting(ptr %launch, ptr %words) cold noinline {
entry:
  %place = getelementptr %launch, ptr %launch, i64 0, i32 21
  %exchanged = cmpxchg ptr %place, i32 0, i32 1 seq_cst seq_cst
  %first = extractvalue { i32, i1 } %exchanged, 1
  br i1 %first, label %keep, label %leave
keep:
  br label %copy
copy:
  %i = phi i64 [ 0, %keep ], [ %next, %copy ]
  %from = getelementptr i32, ptr %words, i64 %i
  %word = load i32, ptr %from
  %next = add i64 %i, 1
  %to = getelementptr i32, ptr %place, i64 %next
  store i32 %word, ptr %to
  %more = icmp ult i64 %next, 263
  br i1 %more, label %copy, label %leave
leave:
  ret void
}

; Whether a kernel is to end early; compiled loops ask now and then.
define i32 @triptych_poll(ptr %launch) noinline {
  call void @give_way(ptr %launch)
  %time = call i64 @now()
  %stop = call i32 @poll_at(ptr %launch, i64 %time)
  ret i32 %stop
}

define internal i32 @poll_at(ptr %launch, i64 %time) {
entry:
  %stopped_place = getelementptr %launch, ptr %launch, i64 0, i32 11
  %stopped = load atomic i32, ptr %stopped_place monotonic, align 4
  %stop = icmp ne i32 %stopped, 0
  br i1 %stop, label %told, label %who
who:
  %self = call i64 @pthread_self()
  %caller_place = getelementptr %launch, ptr %launch, i64 0, i32 3
  %caller = load i64, ptr %caller_place
  %calling = icmp eq i64 %self, %caller
  br i1 %calling, label %when, label %told
when:
  %look_place = getelementptr %launch, ptr %launch, i64 0, i32 4
  %look = load i64, ptr %look_place
  %early = icmp slt i64 %time, %look
  br i1 %early, label %told, label %due
due:
  %later = add i64 %time, 50000000
  store i64 %later, ptr %look_place
  %new = icmp eq i64 %look, 0
  br i1 %new, label %told, label %look_at_signals
look_at_signals:
  %interrupted = call i32 @handle_signals(ptr %launch)
  ret i32 %interrupted
told:
  ret i32 %stopped
}
"""
