"""LLVM IR of the runtime that an exported object carries: the pool of threads without Python around it.

Launches, memory and workers are the IR of `pool_code`. What Python does for them in its own process is done here by
POSIX threads, the C library's output and a text for each thread. Objects that one linker puts together share the state.
"""

from __future__ import annotations

import hashlib
import re

from triptych.targets.cpu.export.native_error_code import ERROR_CODE
from triptych.targets.cpu.runtime.pool_code import pool_text
from triptych.targets.cpu.runtime.pool_fault_code import KEY_CODE

_NATIVE_CODE = """
declare i32 @getpid()
declare i32 @sched_getaffinity(i32, i64, ptr)
declare i32 @pthread_sigmask(i32, ptr, ptr)
declare i32 @pthread_key_delete(%thread_key)
declare i32 @pthread_cond_broadcast(ptr)
declare i64 @fwrite(ptr, i64, i64, ptr)
declare ptr @calloc(i64, i64)
declare i64 @llvm.ctpop.i64(i64)
@stdout = external global ptr

@ready = internal global i32 0                      ; 1 when keys and settings are made
@keys_are_shared = internal global i1 false         ; they belong to whoever has loaded the object
@owner = internal global i32 0                      ; the process that has the lock, or 0
@process = internal global i32 0                    ; the one that the workers belong to
@handles = internal global ptr null                 ; threads that were started
@loads = internal global i32 0                      ; modules that are loaded
@host_pool = internal global ptr null               ; the host's own parallel loop
@host_context = internal global ptr null

; A fork may leave the lock of a process that is not this one: it counts as free.
define internal void @lock() {
entry:
  %self = call i32 @getpid()
  br label %look
look:
  %seen = load atomic i32, ptr @owner seq_cst, align 4
  %taken = icmp eq i32 %seen, %self
  br i1 %taken, label %wait, label %try
wait:
  %yielded = call i32 @sched_yield()
  br label %look
try:
  %exchanged = cmpxchg ptr @owner, i32 %seen, i32 %self seq_cst seq_cst
  %mine = extractvalue { i32, i1 } %exchanged, 1
  br i1 %mine, label %leave, label %look
leave:
  ret void
}

define internal void @unlock() {
  store atomic i32 0, ptr @owner seq_cst, align 4
  ret void
}

define void @triptych_prepare() {
entry:
  %ready = load atomic i32, ptr @ready acquire, align 4
  %done = icmp ne i32 %ready, 0
  br i1 %done, label %leave, label %make
make:
  call void @make_ready()
  br label %leave
leave:
  ret void
}

define internal void @make_ready() noinline cold {
entry:
  call void @lock()
  %ready = load atomic i32, ptr @ready acquire, align 4
  %done = icmp ne i32 %ready, 0
  br i1 %done, label %leave, label %make
make:
  %shared = load i1, ptr @keys_are_shared
  br i1 %shared, label %configure, label %own
own:
  %made = call i1 @make_keys()
  br i1 %made, label %configure, label %leave
configure:
  store i1 true, ptr @memory_key_made
  %cores = call i64 @cores()
  call void @triptych_pool_configure(i64 %cores, i64 0, i64 0)
  %self = call i32 @getpid()
  store i32 %self, ptr @process
  store atomic i32 1, ptr @ready release, align 4
  br label %leave
leave:
  call void @unlock()
  ret void
}

; A process has 1024 keys at most: without all of ours there is none of them, and nothing runs.
define internal i1 @make_keys() {
entry:
  %first = call i32 @pthread_key_create(ptr @launch_key, ptr null)
  %no_first = icmp ne i32 %first, 0
  br i1 %no_first, label %none, label %memory
memory:
  %second = call i32 @pthread_key_create(ptr @memory_key, ptr @free)
  %no_second = icmp ne i32 %second, 0
  br i1 %no_second, label %one, label %errors
errors:
  %third = call i32 @pthread_key_create(ptr @error_key, ptr @free)
  %no_third = icmp ne i32 %third, 0
  br i1 %no_third, label %two, label %all
two:
  %memory_key = load %thread_key, ptr @memory_key
  %0 = call i32 @pthread_key_delete(%thread_key %memory_key)
  br label %one
one:
  %launch_key = load %thread_key, ptr @launch_key
  %1 = call i32 @pthread_key_delete(%thread_key %launch_key)
  br label %none
none:
  ret i1 false
all:
  ret i1 true
}

; Gives a key back, and what this thread has kept under it. Workers gave theirs when they ended.
define internal void @drop_key(ptr %place) {
  %key = load %thread_key, ptr %place
  %kept = call ptr @pthread_getspecific(%thread_key %key)
  call void @free(ptr %kept)
  %deleted = call i32 @pthread_key_delete(%thread_key %key)
  ret void
}

define internal void @drop_keys() {
entry:
  call void @lock()
  %ready = load atomic i32, ptr @ready acquire, align 4
  %made = icmp ne i32 %ready, 0
  %shared = load i1, ptr @keys_are_shared
  %own = xor i1 %shared, true
  %some = and i1 %made, %own
  %loads = load atomic i32, ptr @loads seq_cst, align 4
  %unused = icmp eq i32 %loads, 0
  %dropped = and i1 %some, %unused
  br i1 %dropped, label %drop, label %leave
drop:
  store atomic i32 0, ptr @ready release, align 4
  store i1 false, ptr @memory_key_made
  %launch_key = load %thread_key, ptr @launch_key
  %deleted = call i32 @pthread_key_delete(%thread_key %launch_key)
  call void @drop_key(ptr @memory_key)
  call void @drop_key(ptr @error_key)
  br label %leave
leave:
  call void @unlock()
  ret void
}

; Before anything else: keys of the launch, of memory and of errors that several objects have in common. What is kept
; under them, and that `free` ends it, is part of the interface.
define void @triptych_native_share_keys(ptr %keys) {
entry:
  call void @lock()
  %ready = load atomic i32, ptr @ready acquire, align 4
  %late = icmp ne i32 %ready, 0
  br i1 %late, label %leave, label %take
take:
  %launch = load %thread_key, ptr %keys
  %memory_place = getelementptr %thread_key, ptr %keys, i64 1
  %memory = load %thread_key, ptr %memory_place
  %error_place = getelementptr %thread_key, ptr %keys, i64 2
  %error = load %thread_key, ptr %error_place
  store %thread_key %launch, ptr @launch_key
  store %thread_key %memory, ptr @memory_key
  store %thread_key %error, ptr @error_key
  store i1 true, ptr @keys_are_shared
  br label %leave
leave:
  call void @unlock()
  ret void
}

define i1 @triptych_native_is_ready() {
  call void @triptych_prepare()
  %ready = load atomic i32, ptr @ready acquire, align 4
  %made = icmp ne i32 %ready, 0
  ret i1 %made
}

; Cores that this process may use.
define internal i64 @cores() {
entry:
  %mask = alloca [16 x i64], align 8
  store [16 x i64] zeroinitializer, ptr %mask
  %asked = call i32 @sched_getaffinity(i32 0, i64 128, ptr %mask)
  br label %count
count:
  %i = phi i64 [ 0, %entry ], [ %next, %count ]
  %sum = phi i64 [ 0, %entry ], [ %more, %count ]
  %place = getelementptr i64, ptr %mask, i64 %i
  %word = load i64, ptr %place
  %bits = call i64 @llvm.ctpop.i64(i64 %word)
  %more = add i64 %sum, %bits
  %next = add i64 %i, 1
  %last = icmp eq i64 %next, 16
  br i1 %last, label %leave, label %count
leave:
  %result = call i64 @llvm.smax.i64(i64 %more, i64 1)
  ret i64 %result
}

; In a child of a fork no worker exists.
define internal void @notice_fork() {
entry:
  %self = call i32 @getpid()
  %known = load atomic i32, ptr @process seq_cst, align 4
  %same = icmp eq i32 %self, %known
  br i1 %same, label %leave, label %forked
forked:
  call void @lock()
  %still = load atomic i32, ptr @process seq_cst, align 4
  %late = icmp eq i32 %self, %still
  br i1 %late, label %done, label %reset
reset:
  %threads = load i64, ptr @threads
  call void @triptych_pool_configure(i64 %threads, i64 0, i64 0)
  store atomic i32 %self, ptr @process seq_cst, align 4
  br label %done
done:
  call void @unlock()
  br label %leave
leave:
  ret void
}

; The host's own pool, if it has given one. What it has not run when it returns, the calling thread runs.
; No debugger is there.
define internal void @remember_fault(ptr %launch) {
  ret void
}

define internal i1 @run_elsewhere(ptr %launch) {
entry:
  call void @notice_fork()
  %run = load atomic ptr, ptr @host_pool seq_cst, align 8
  %own = icmp eq ptr %run, null
  br i1 %own, label %here, label %there
here:
  ret i1 false
there:
  %context = load ptr, ptr @host_context
  %total_place = getelementptr %launch, ptr %launch, i64 0, i32 2
  %total = load i64, ptr %total_place
  %threads = load i64, ptr @threads
  %shares = call i64 @llvm.smin.i64(i64 %total, i64 %threads)
  call void %run(ptr %context, i64 %shares, ptr @run_share, ptr %launch)
  call void @run(ptr %launch)
  ret i1 true
}

; Called by the host's pool, on any thread, as often as it was asked to.
define internal void @run_share(ptr %launch, i64 %number) {
entry:
  %key = load %thread_key, ptr @launch_key
  %before = call ptr @pthread_getspecific(%thread_key %key)
  %same = icmp eq ptr %before, %launch
  %outer = select i1 %same, ptr null, ptr %before
  %aside = call ptr @set_memory_aside(ptr %outer)
  call void @run_as_part(ptr %launch, ptr %before)
  call void @take_memory_back(ptr %outer, ptr %aside)
  ret void
}

define internal ptr @worker(ptr %nothing) {
  call void @triptych_pool_work()
  ret ptr null
}

define internal void @make_room() {
  ret void
}

; Signals are for the threads of the host.
define internal i32 @start_workers(ptr %launch) {
entry:
  %all = alloca [16 x i64], align 8
  %mask = alloca [16 x i64], align 8
  call void @llvm.memset.p0.i64(ptr %all, i8 -1, i64 128, i1 false)
  %threads = load i64, ptr @threads
  %wanted = sub i64 %threads, 1
  %handles = call ptr @calloc(i64 %threads, i64 8)
  %none = icmp eq ptr %handles, null
  br i1 %none, label %alone, label %begin
alone:
  ret i32 0
begin:
  store ptr %handles, ptr @handles
  %blocked = call i32 @pthread_sigmask(i32 0, ptr %all, ptr %mask)
  br label %next
next:
  %made = phi i64 [ 0, %begin ], [ %more, %started ]
  %enough = icmp sge i64 %made, %wanted
  br i1 %enough, label %end, label %start
start:
  %place = getelementptr i64, ptr %handles, i64 %made
  %status = call i32 @pthread_create(ptr %place, ptr null, ptr @worker, ptr null)
  %created = icmp eq i32 %status, 0
  br i1 %created, label %started, label %end
started:
  %more = add i64 %made, 1
  br label %next
end:
  %restored = call i32 @pthread_sigmask(i32 2, ptr %mask, ptr null)
  %number = trunc i64 %made to i32
  ret i32 %number
}

; Waits for a launch that runs, then for the workers. The next launch starts others.
define internal void @end_workers() {
entry:
  call void @notice_fork()
  br label %reserve
reserve:
  %reserved = cmpxchg ptr @busy, i32 0, i32 1 seq_cst seq_cst
  %free = extractvalue { i32, i1 } %reserved, 1
  br i1 %free, label %look, label %wait
wait:
  %yielded = call i32 @sched_yield()
  br label %reserve
look:
  %started = load i32, ptr @started
  %none = icmp eq i32 %started, 0
  br i1 %none, label %leave, label %tell
tell:
  store atomic i32 1, ptr @ending seq_cst, align 4
  %counted = atomicrmw add ptr @generation, i64 1 seq_cst
  %locked = call i32 @pthread_mutex_lock(ptr @mutex)
  %told = call i32 @pthread_cond_broadcast(ptr @work)
  %unlocked = call i32 @pthread_mutex_unlock(ptr @mutex)
  %handles = load ptr, ptr @handles
  br label %join
join:
  %i = phi i32 [ 0, %tell ], [ %next, %join ]
  %place = getelementptr i64, ptr %handles, i32 %i
  %thread = load i64, ptr %place
  %joined = call i32 @pthread_join(i64 %thread, ptr null)
  %next = add i32 %i, 1
  %last = icmp eq i32 %next, %started
  br i1 %last, label %forget, label %join
forget:
  call void @free(ptr %handles)
  store ptr null, ptr @handles
  store i32 0, ptr @started
  store atomic i32 0, ptr @ending seq_cst, align 4
  br label %leave
leave:
  store atomic i32 0, ptr @busy release, align 4
  ret void
}

; 0: as many as there are cores
define void @triptych_native_set_threads(i32 %wanted) {
entry:
  %ready = call i1 @triptych_native_is_ready()
  br i1 %ready, label %set, label %leave
set:
  call void @end_workers()
  %cores = call i64 @cores()
  %given = sext i32 %wanted to i64
  %chosen = icmp sgt i64 %given, 0
  %threads = select i1 %chosen, i64 %given, i64 %cores
  store i64 %threads, ptr @threads
  br label %leave
leave:
  ret void
}

define void @triptych_native_set_pool(ptr %run, ptr %context) {
  call void @triptych_prepare()
  store ptr %context, ptr @host_context
  store atomic ptr %run, ptr @host_pool seq_cst, align 8
  ret void
}

; Gives whether there is what calls need. Counted under the lock: an unload that goes on keeps the keys, or has given
; them back.
define i1 @triptych_native_load() {
entry:
  call void @lock()
  %before = atomicrmw add ptr @loads, i32 1 seq_cst
  call void @unlock()
  %ready = call i1 @triptych_native_is_ready()
  br i1 %ready, label %leave, label %uncount
uncount:
  %counted = atomicrmw sub ptr @loads, i32 1 seq_cst
  br label %leave
leave:
  ret i1 %ready
}

; Code that may be unmapped next has no threads in it, and a process that loads again finds its keys free.
define void @triptych_native_unload() {
entry:
  %before = atomicrmw sub ptr @loads, i32 1 seq_cst
  %last = icmp eq i32 %before, 1
  br i1 %last, label %end, label %leave
end:
  call void @end_workers()
  call void @drop_keys()
  br label %leave
leave:
  ret void
}

; Threads of the host are not known here: a launch waits as long as memory says so.
define internal i32 @nobody_else_writes(ptr %launch) {
  ret i32 0
}

; Only what a kernel does ends a launch.
define internal i32 @handle_signals(ptr %launch) {
  ret i32 0
}

; Text of the program goes where the host's own goes, in the same order.
define i32 @triptych.write(ptr %data, i64 %size) {
  %stream = load ptr, ptr @stdout
  %written = call i64 @fwrite(ptr %data, i64 1, i64 %size, ptr %stream)
  ret i32 0
}

define i32 @triptych_kernel_write(ptr %launch, ptr %data, i64 %size) noinline {
  %written = call i32 @triptych.write(ptr %data, i64 %size)
  %stopped_place = getelementptr %launch, ptr %launch, i64 0, i32 11
  %stopped = load atomic i32, ptr %stopped_place monotonic, align 4
  ret i32 %stopped
}

; Python is not there to handle signals.
define i32 @triptych.poll_host(ptr %due) {
  ret i32 0
}
"""


def native_code() -> str:
    """The runtime as a module of its own. Its state has names that only the same runtime has."""
    text = pool_text(KEY_CODE + _NATIVE_CODE + ERROR_CODE)
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    for name in re.findall(r"^@(\w+) = internal global ", text, re.MULTILINE):
        text = re.sub(rf"@{name}\b", f"@triptych_{digest}_{name}", text)
    return text.replace(" = internal global ", " = linkonce_odr hidden global ")
