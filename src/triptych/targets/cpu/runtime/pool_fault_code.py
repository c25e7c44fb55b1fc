"""LLVM IR of what a fault of the machine says: which kernel was running and where it was launched. Part of `pool_code`.

The handler of SIGSEGV, SIGBUS and SIGFPE writes prepared text, gives the signal its previous action back and returns.
The instruction then faults again, and what would have happened without us happens: `faulthandler` prints tracebacks,
the process ends by the signal. The structures are those of Linux; elsewhere faults say nothing.
"""

from __future__ import annotations

import signal

from triptych.targets.cpu.abi.system import system

MAKE_KEY = "triptych_pool_make_key"
USE_KEY = "triptych_pool_use_key"
WATCH_FAULTS = "triptych_pool_watch_faults"
THREAD_KEY = "%thread_key"
"""In the texts of the pool, for the type that keys of threads have on this system."""
FAULT_FUNCTIONS = (MAKE_KEY, USE_KEY, WATCH_FAULTS)

_ADVICE = """
  Out-of-bounds accesses, and accesses to memory that is freed, fault like this.
  With TRIPTYCH_DEBUG=bounds in the environment, an out-of-bounds access is an error at its line.
"""
_ROOM = 1 << 16
"""Bytes of the stack that handlers have when a thread's own is full."""
_NAMES = ("SIGSEGV", "SIGBUS", "SIGFPE")
_SIGNALS = {name: int(getattr(signal, name)) for name in _NAMES if hasattr(signal, name)}


def fault_code() -> str:
    """The text for the system this process runs on."""
    if not system().tells_faults:
        return KEY_CODE + "".join(f"define void @{name}() {{\n  ret void\n}}\n" for name in (WATCH_FAULTS, "make_room"))
    begins = "".join(text_global(f"begin{number}", f"\ntriptych: {name} in ") for name, number in _SIGNALS.items())
    handlers = "".join(_HANDLER.format(number=number) for number in _SIGNALS.values())
    installed = "".join(_INSTALL.format(number=number) for number in _SIGNALS.values())
    return KEY_CODE + begins + text_global("advice", _ADVICE) + handlers + _FAULT + _WATCH.format(installed=installed)


def text_global(name: str, text: str) -> str:
    """A constant that ends with a zero."""
    data = text.encode() + b"\0"
    escaped = "".join(f"\\{byte:02X}" for byte in data)
    return f'@{name} = internal constant [{len(data)} x i8] c"{escaped}"\n'


KEY_CODE = f"""
declare i32 @pthread_key_create(ptr, ptr)
declare ptr @pthread_getspecific(%thread_key)
declare i32 @pthread_setspecific(%thread_key, ptr)
@launch_key = internal global %thread_key 0                 ; under which each thread keeps the launch that it works for

; Several pools share one key: there is one handler.
define %thread_key @{MAKE_KEY}() {{
  %made = call i32 @pthread_key_create(ptr @launch_key, ptr null)
  %key = load %thread_key, ptr @launch_key
  ret %thread_key %key
}}

define void @{USE_KEY}(%thread_key %key) {{
  store %thread_key %key, ptr @launch_key
  ret void
}}
"""

_HANDLER = """
@previous{number} = internal global [152 x i8] zeroinitializer, align 8
define internal void @on_signal{number}(i32 %signal, ptr %info, ptr %context) {{
  call void @fault(i32 {number}, ptr %info, ptr @begin{number}, ptr @previous{number})
  ret void
}}
"""

_INSTALL = """
  store ptr @on_signal{number}, ptr %action
  %installed{number} = call i32 @sigaction(i32 {number}, ptr %action, ptr @previous{number})
"""

_FAULT = """
declare i64 @strlen(ptr)
declare i64 @writev(i32, ptr, i32)
declare i32 @sigaction(i32, ptr, ptr)
declare i32 @pthread_kill(i64, i32)

define internal void @put(ptr %part, ptr %text) {
  store ptr %text, ptr %part
  %size = call i64 @strlen(ptr %text)
  %size_place = getelementptr { ptr, i64 }, ptr %part, i64 0, i32 1
  store i64 %size, ptr %size_place
  ret void
}

; Runs on whatever thread has faulted, anywhere in its code: nothing here takes a lock or memory.
define internal void @fault(i32 %signal, ptr %info, ptr %begin, ptr %previous) {
entry:
  %parts = alloca [3 x { ptr, i64 }], align 8
  %key = load %thread_key, ptr @launch_key
  %launch = call ptr @pthread_getspecific(%thread_key %key)
  %elsewhere = icmp eq ptr %launch, null
  br i1 %elsewhere, label %restore, label %tell
tell:
  %identity_place = getelementptr %launch, ptr %launch, i64 0, i32 14
  %identity = load ptr, ptr %identity_place
  ; One write of three parts: other threads that fault at the same time cannot write in between.
  call void @put(ptr %parts, ptr %begin)
  %second = getelementptr { ptr, i64 }, ptr %parts, i64 1
  call void @put(ptr %second, ptr %identity)
  %third = getelementptr { ptr, i64 }, ptr %parts, i64 2
  call void @put(ptr %third, ptr @advice)
  %written = call i64 @writev(i32 2, ptr %parts, i32 3)
  br label %restore
restore:
  %restored = call i32 @sigaction(i32 %signal, ptr %previous, ptr null)
  %code_place = getelementptr i32, ptr %info, i64 2
  %code = load i32, ptr %code_place
  %sent = icmp slt i32 %code, 1
  br i1 %sent, label %again, label %leave
again:
  ; Sent by a process, or by a handler that has done its part: no instruction will fault again.
  %self = call i64 @pthread_self()
  %killed = call i32 @pthread_kill(i64 %self, i32 %signal)
  br label %leave
leave:
  ret void
}
"""

_WATCH = f"""
declare i32 @sigaltstack(ptr, ptr)
declare ptr @malloc(i64)

; Lets handlers run in this thread when its stack is full, unless something has done so: 0 address, 8 flags, 16 size
define internal void @make_room() {{{{
entry:
  %room = alloca {{{{ ptr, i32, i64 }}}}, align 8
  %asked = call i32 @sigaltstack(ptr null, ptr %room)
  %flags_place = getelementptr {{{{ ptr, i32, i64 }}}}, ptr %room, i64 0, i32 1
  %flags = load i32, ptr %flags_place
  %none = icmp eq i32 %flags, 2
  br i1 %none, label %make, label %leave
make:
  %memory = call ptr @malloc(i64 {_ROOM})
  store ptr %memory, ptr %room
  store i32 0, ptr %flags_place
  %size_place = getelementptr {{{{ ptr, i32, i64 }}}}, ptr %room, i64 0, i32 2
  store i64 {_ROOM}, ptr %size_place
  %set = call i32 @sigaltstack(ptr %room, ptr null)
  br label %leave
leave:
  ret void
}}}}

; 0 handler, 8 mask, 136 flags: SA_SIGINFO, and SA_ONSTACK for threads whose stack has no room left
define void @{WATCH_FAULTS}() {{{{
  %action = alloca [152 x i8], align 8
  store [152 x i8] zeroinitializer, ptr %action
  %flags = getelementptr i8, ptr %action, i64 136
  store i32 134217732, ptr %flags
{{installed}}
  call void @make_room()
  ret void
}}}}
"""
