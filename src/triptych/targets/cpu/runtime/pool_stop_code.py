"""LLVM IR of what ends a launch early: the first fault is kept, and loops ask whether there is one.

Part of `pool_code`. What a fault then becomes, and who else may end a launch, is `pool_python_code` in a Python process
and `native_code` in an exported object.
"""

from __future__ import annotations

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
