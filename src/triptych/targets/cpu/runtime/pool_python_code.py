"""LLVM IR of the pool where it meets Python: threads that Python starts, signals, printing, exceptions.

Part of `pool_code`.
"""

from __future__ import annotations

PYTHON_CODE = """
declare i32 @PyGILState_Ensure()
declare void @PyGILState_Release(i32)
declare i32 @PyErr_CheckSignals()
declare void @PyErr_Fetch(ptr, ptr, ptr)
declare void @PyErr_NormalizeException(ptr, ptr, ptr)
declare i32 @PyException_SetTraceback(ptr, ptr)
declare void @Py_DecRef(ptr)
declare ptr @PyUnicode_DecodeUTF8(ptr, i64, ptr)
declare ptr @PyObject_CallOneArg(ptr, ptr)
declare ptr @PyObject_CallFunction(ptr, ptr, ...)
declare ptr @PyObject_Type(ptr)
declare void @PyErr_SetObject(ptr, ptr)
declare i64 @PyLong_AsLong(ptr)

@triptych_python_writer = external global i8         ; a Python function of one text
@triptych_pool_start = external global i8            ; a Python function that starts workers and gives their number
@triptych_launch_stopped = external global i8        ; a Python function of a launch that gives its exception
@format = internal constant [2 x i8] c"K\\00"
@replace = internal constant [8 x i8] c"replace\\00"

; All blocks run on threads of this pool.
define internal i1 @run_elsewhere(ptr %launch) {
  ret i1 false
}

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
