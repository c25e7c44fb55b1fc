"""The native half of the thread pool, as LLVM IR: handing out blocks, waking and parking threads, noticing signals.

Output: the text that `pool` compiles once for a process. It is native because a launch takes less time than one Python
bytecode, and LLVM IR because the worker that compiles kernels is the only compiler there is.

A launch is a record on the stack of the thread that calls. That thread publishes it, runs blocks like everybody else,
withdraws it and waits for those who had joined; so a launch never waits for a thread that was not awake in time.
"""

from __future__ import annotations

import platform

from triptych.targets.cpu.abi.system import CLOCK, system
from triptych.targets.cpu.runtime.pool_cooperative_code import COOPERATIVE_CODE, WAITING_CODE
from triptych.targets.cpu.runtime.pool_fault_code import THREAD_KEY, fault_code
from triptych.targets.cpu.runtime.pool_memory_code import MEMORY_CODE
from triptych.targets.cpu.runtime.pool_python_code import PYTHON_CODE
from triptych.targets.cpu.runtime.pool_worker_code import STOP_CODE, WORKER_CODE

# LLVM IR of a launch: running its blocks in chunks, alone or together with the workers.

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
  store i64 1, ptr %next_place
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

; For a kernel: the number of the next cluster of the order, or -1.
define i64 @triptych_take_cluster(ptr %launch) noinline {
entry:
  %total_place = getelementptr %launch, ptr %launch, i64 0, i32 2
  %total = load i64, ptr %total_place
  %next_place = getelementptr %launch, ptr %launch, i64 0, i32 13
  %place = atomicrmw add ptr %next_place, i64 1 monotonic
  %some = icmp slt i64 %place, %total
  %number = call i64 @block_at(ptr %launch, i64 %place)
  %given = select i1 %some, i64 %number, i64 -1
  ret i64 %given
}

; The number of the block at a place of the order.
define internal i64 @block_at(ptr %launch, i64 %place) {
entry:
  %total_place = getelementptr %launch, ptr %launch, i64 0, i32 2
  %total = load i64, ptr %total_place
  %multiplier = load i64, ptr @multiplier
  %offset = load i64, ptr @offset
  %ordered = icmp eq i64 %multiplier, 0
  %large = icmp sgt i64 %total, 2147483647
  %as_it_is = or i1 %ordered, %large
  %product = mul i64 %place, %multiplier
  %moved = add i64 %product, %offset
  %other = urem i64 %moved, %total
  %number = select i1 %as_it_is, i64 %place, i64 %other
  ret i64 %number
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
  %ordered = icmp eq i64 %multiplier, 0
  %large = icmp sgt i64 %total, 2147483647
  %together = or i1 %ordered, %large
  br i1 %together, label %whole, label %each
whole:
  call void %chunk(ptr %packed, i64 %begin, i64 %end, ptr %launch)
  ret void
each:
  %place = phi i64 [ %begin, %entry ], [ %next, %each ]
  %block = call i64 @block_at(ptr %launch, i64 %place)
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

CONFIGURE = "triptych_pool_configure"
WORK = "triptych_pool_work"
LATEST = "triptych_pool_latest"
START_WORKERS = "triptych_pool_start"
STOPPED = "triptych_launch_stopped"
ASK_OTHERS = "triptych_ask_others"

POOL_PYTHON_FUNCTIONS = (
    *("PyGILState_Ensure", "PyGILState_Release", "Py_DecRef"),
    *("PyErr_CheckSignals", "PyErr_Fetch", "PyErr_NormalizeException", "PyException_SetTraceback"),
    *("PyUnicode_DecodeUTF8", "PyObject_CallOneArg", "PyObject_CallFunction", "PyObject_Type", "PyErr_SetObject"),
    *("PyLong_AsLong", "PyErr_Clear"),
)

_RELAX = {
    **dict.fromkeys(("x86_64", "AMD64"), "call void @llvm.x86.sse2.pause()"),
    **dict.fromkeys(("aarch64", "arm64"), "call void @llvm.aarch64.hint(i32 1)"),
}
"""How a waiting core leaves the other one of its pair alone."""


def pool_code() -> str:
    """The text for the machine this process runs on, and for Python around it."""
    return pool_text(PYTHON_CODE + fault_code())


def pool_text(surroundings: str) -> str:
    """The pool with what depends on where it runs."""
    relax = _RELAX.get(platform.machine(), "")
    text = (
        f"@monotonic_clock = internal constant i32 {system().monotonic_clock}\n"
        "declare i32 @read_clock(i32, ptr)\n"
        f"define internal void @relax() {{\n  {relax}\n  ret void\n}}\n"
        + _STATE
        + LAUNCH_CODE
        + COOPERATIVE_CODE
        + MEMORY_CODE
        + STOP_CODE
        + WAITING_CODE
        + WORKER_CODE
        + surroundings
    )
    return text.replace("@read_clock", f"@{CLOCK}").replace(THREAD_KEY, system().thread_key)


_STATE = """
%launch = type { ptr, ptr, i64, i64, i64, ptr, ptr, ptr, [4 x i32], i32, i32, i32, [64 x i8], i64, ptr, i64, i32, i32,
                 i32, i32, [24 x i8], [264 x i32], i64, i32, i32, i64, i64 }
; 0 chunk function, 1 packed arguments, 2 number of blocks, 3 calling thread, 4 time of the next look at signals,
; 5 Python exception, 6 name of the error, 7 its text, 8 where it was, 9 and 10 block dimensions, 11 stopped,
; 13 next block (the padding keeps it apart from what every thread reads), 14 which kernel, launched where,
; 15 bytes of memory that a block needs, 16 to 19 of cooperative launches (`pool_cooperative_code`),
; 20 the last stop for a debugger: numbers of the warp, the site, and the launch's own;
; 21 who waits for whom when nobody gets on; 22 to 26 of blocks that wait for memory (`pool_cooperative_code`)

declare i64 @pthread_self()
declare i32 @pthread_mutex_init(ptr, ptr)
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_init(ptr, ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_timedwait(ptr, ptr, ptr)
declare i32 @pthread_cond_signal(ptr)
declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.smax.i64(i64, i64)
declare void @llvm.x86.sse2.pause()
declare void @llvm.aarch64.hint(i32)

@threads = internal global i64 1                    ; that run blocks, the calling one included
@multiplier = internal global i64 0                 ; of the shuffled order; 0: in order
@offset = internal global i64 0
@started = internal global i32 0                    ; workers that exist
@mutex = internal global [128 x i8] zeroinitializer, align 64
@work = internal global [128 x i8] zeroinitializer, align 64
@done = internal global [128 x i8] zeroinitializer, align 64
@sleepers = internal global i32 0, align 64         ; workers parked on @work
@waiting = internal global i32 0                    ; 1 when the caller is parked on @done
@busy = internal global i32 0                       ; 1 while a launch has the pool
@current = internal global ptr null, align 64       ; the published launch
@generation = internal global i64 0                 ; counts published launches
@active = internal global i32 0, align 64           ; workers that may touch the published launch
@ending = internal global i32 0                     ; 1 when workers are to end
@latest = internal global [3 x i64] zeroinitializer ; for who asks: kernel and blocks of the latest launch (0 when it is
                                                    ; over), and how many there were

define void @triptych_pool_latest(ptr %words) {
  %now = load [3 x i64], ptr @latest
  store [3 x i64] %now, ptr %words
  ret void
}

; At the start and after a fork: no worker exists, no launch runs.
define void @triptych_pool_configure(i64 %threads, i64 %multiplier, i64 %offset) {
  store i64 %threads, ptr @threads
  store i64 %multiplier, ptr @multiplier
  store i64 %offset, ptr @offset
  store i32 0, ptr @started
  store i32 0, ptr @sleepers
  store i32 0, ptr @waiting
  store i32 0, ptr @busy
  store i32 0, ptr @active
  store ptr null, ptr @current
  call void @make_memory_key()
  %mutex = call i32 @pthread_mutex_init(ptr @mutex, ptr null)
  %work = call i32 @pthread_cond_init(ptr @work, ptr null)
  %done = call i32 @pthread_cond_init(ptr @done, ptr null)
  ret void
}

define internal i64 @nanoseconds(i32 %clock) {
  %time = alloca { i64, i64 }
  %read = call i32 @read_clock(i32 %clock, ptr %time)
  %seconds = load i64, ptr %time
  %fraction_place = getelementptr i64, ptr %time, i64 1
  %fraction = load i64, ptr %fraction_place
  %whole = mul i64 %seconds, 1000000000
  %sum = add i64 %whole, %fraction
  ret i64 %sum
}

define internal i64 @now() {
  %clock = load i32, ptr @monotonic_clock
  %time = call i64 @nanoseconds(i32 %clock)
  ret i64 %time
}
"""
