"""The native half of the thread pool, as LLVM IR: handing out blocks, waking and parking threads, noticing signals.

Output: the text that `pool` compiles once for a process. It is native because a launch takes less time than one Python
bytecode, and LLVM IR because the worker that compiles kernels is the only compiler there is.

A launch is a record on the stack of the thread that calls. That thread publishes it, runs blocks like everybody else,
withdraws it and waits for those who had joined; so a launch never waits for a thread that was not awake in time.
"""

from __future__ import annotations

import platform

from triptych.targets.cpu.abi.system import CLOCK, system
from triptych.targets.cpu.runtime.pool_cooperative_code import COOPERATIVE_CODE
from triptych.targets.cpu.runtime.pool_fault_code import THREAD_KEY, fault_code
from triptych.targets.cpu.runtime.pool_launch_code import LAUNCH_CODE
from triptych.targets.cpu.runtime.pool_memory_code import MEMORY_CODE
from triptych.targets.cpu.runtime.pool_python_code import PYTHON_CODE
from triptych.targets.cpu.runtime.pool_waiting_code import WAITING_CODE
from triptych.targets.cpu.runtime.pool_worker_code import STOP_CODE, WORKER_CODE

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
; 21 who waits for whom when nobody gets on; 22 to 26 of blocks that wait for memory (`pool_waiting_code`)

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
