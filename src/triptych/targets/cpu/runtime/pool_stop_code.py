"""LLVM IR of what ends a launch early: faults, signals and what printing raises. Part of `pool_code`."""

from __future__ import annotations

STOP_CODE = """
; Raises, in the thread that launched, what ended the launch: a Python function gives the exception, or is interrupted.
define internal void @raise_cause(ptr %launch) cold {
entry:
  %lock = call i32 @PyGILState_Ensure()
  %address = ptrtoint ptr %launch to i64
  %error = call ptr (ptr, ptr, ...) @PyObject_CallFunction(ptr @triptych_launch_stopped, ptr @format, i64 %address)
  %interrupted = icmp eq ptr %error, null
  br i1 %interrupted, label %leave, label %raise
raise:
  %kind = call ptr @PyObject_Type(ptr %error)
  call void @PyErr_SetObject(ptr %kind, ptr %error)
  call void @Py_DecRef(ptr %kind)
  call void @Py_DecRef(ptr %error)
  br label %leave
leave:
  call void @PyGILState_Release(i32 %lock)
  ret void
}

; Starts threads by a Python function; an interrupt that comes meanwhile ends the launch. Gives how many there are.
define internal i32 @start_workers(ptr %launch) {
entry:
  %lock = call i32 @PyGILState_Ensure()
  %number = call ptr (ptr, ptr, ...) @PyObject_CallFunction(ptr @triptych_pool_start, ptr null)
  %interrupted = icmp eq ptr %number, null
  br i1 %interrupted, label %keep, label %count
keep:
  call void @keep_exception(ptr %launch)
  br label %leave
count:
  %started = call i64 @PyLong_AsLong(ptr %number)
  %narrow = trunc i64 %started to i32
  call void @Py_DecRef(ptr %number)
  br label %leave
leave:
  %result = phi i32 [ 0, %keep ], [ %narrow, %count ]
  call void @PyGILState_Release(i32 %lock)
  ret i32 %result
}

; Keeps the first fault of a launch. `where` is block x, y, z and the thread, or null.
define void @triptych_kernel_fault(ptr %launch, ptr %name, ptr %text, ptr %where) cold {
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
  ret void
nowhere:
  store [4 x i32] [i32 -1, i32 -1, i32 -1, i32 -1], ptr %where_place
  ret void
leave:
  ret void
}

; Whether a kernel is to end early; compiled loops ask now and then.
define i32 @triptych_poll(ptr %launch) {
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

; Lets Python run its signal handlers, which it does in the main thread only.
define internal i32 @handle_signals(ptr %launch) noinline {
entry:
  %lock = call i32 @PyGILState_Ensure()
  %raised = call i32 @PyErr_CheckSignals()
  %calm = icmp eq i32 %raised, 0
  br i1 %calm, label %leave, label %keep
keep:
  call void @keep_exception(ptr %launch)
  br label %leave
leave:
  call void @PyGILState_Release(i32 %lock)
  %interrupted = sub i32 0, %raised
  ret i32 %interrupted
}

; Prints for a kernel. Python runs here, so an interrupt may be raised here.
define i32 @triptych_kernel_write(ptr %launch, ptr %data, i64 %size) {
entry:
  %lock = call i32 @PyGILState_Ensure()
  %text = call ptr @PyUnicode_DecodeUTF8(ptr %data, i64 %size, ptr @replace)
  %written = call ptr @PyObject_CallOneArg(ptr @triptych_python_writer, ptr %text)
  call void @Py_DecRef(ptr %text)
  call void @Py_DecRef(ptr %written)
  %raised = icmp eq ptr %written, null
  br i1 %raised, label %keep, label %leave
keep:
  call void @keep_exception(ptr %launch)
  br label %leave
leave:
  call void @PyGILState_Release(i32 %lock)
  %stopped_place = getelementptr %launch, ptr %launch, i64 0, i32 11
  %stopped = load atomic i32, ptr %stopped_place monotonic, align 4
  ret i32 %stopped
}

; What Python has raised ends the launch; the first exception counts.
define internal void @keep_exception(ptr %launch) {
entry:
  %kind = alloca ptr
  %exception = alloca ptr
  %traceback = alloca ptr
  call void @PyErr_Fetch(ptr %kind, ptr %exception, ptr %traceback)
  call void @PyErr_NormalizeException(ptr %kind, ptr %exception, ptr %traceback)
  %kind_value = load ptr, ptr %kind
  %value = load ptr, ptr %exception
  %traceback_value = load ptr, ptr %traceback
  call void @Py_DecRef(ptr %kind_value)
  %has_traceback = icmp ne ptr %traceback_value, null
  br i1 %has_traceback, label %attach, label %keep
attach:
  %attached = call i32 @PyException_SetTraceback(ptr %value, ptr %traceback_value)
  call void @Py_DecRef(ptr %traceback_value)
  br label %keep
keep:
  %exception_place = getelementptr %launch, ptr %launch, i64 0, i32 5
  %kept = load ptr, ptr %exception_place
  %first = icmp eq ptr %kept, null
  %chosen = select i1 %first, ptr %value, ptr %kept
  %other = select i1 %first, ptr null, ptr %value
  store ptr %chosen, ptr %exception_place
  call void @Py_DecRef(ptr %other)
  %stopped_place = getelementptr %launch, ptr %launch, i64 0, i32 11
  store atomic i32 1, ptr %stopped_place release, align 4
  ret void
}
"""
