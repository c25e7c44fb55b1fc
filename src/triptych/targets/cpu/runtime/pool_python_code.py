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
declare void @PyErr_Clear()

@triptych_python_writer = external global i8         ; a Python function of one text
@triptych_python_stopper = external global i8        ; a Python function of a launch's number, a site, an address
@triptych_python_rememberer = external global i8     ; of a launch, a site, an address: a thread fails
@triptych_pool_start = external global i8            ; a Python function that starts workers and gives their number
@triptych_launch_stopped = external global i8        ; a Python function of a launch that gives its exception
@triptych_ask_others = external global i8            ; a Python function of a launch: 1 when nobody else could write
@format = internal constant [2 x i8] c"K\\00"
@stopping_launches = internal global i64 0           ; counted: records lie where others have lain
@three_numbers = internal constant [4 x i8] c"KKK\\00"
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

; All blocks wait for memory: whether nobody outside of the launch could write it either.
define internal i32 @nobody_else_writes(ptr %launch) {
entry:
  %lock = call i32 @PyGILState_Ensure()
  %address = ptrtoint ptr %launch to i64
  %answer = call ptr (ptr, ptr, ...) @PyObject_CallFunction(ptr @triptych_ask_others, ptr @format, i64 %address)
  %raised = icmp eq ptr %answer, null
  br i1 %raised, label %forget, label %read
forget:
  call void @PyErr_Clear()
  br label %leave
read:
  %number = call i64 @PyLong_AsLong(ptr %answer)
  %narrow = trunc i64 %number to i32
  call void @Py_DecRef(ptr %answer)
  br label %leave
leave:
  %result = phi i32 [ 0, %forget ], [ %narrow, %read ]
  call void @PyGILState_Release(i32 %lock)
  ret i32 %result
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

; A thread of a kernel may stop for a debugger: it does where the byte of the site says so.
define i32 @triptych_kernel_stop(ptr %launch, i64 %site, i64 %switch, ptr %numbers) {
entry:
  %record_place = getelementptr %launch, ptr %launch, i64 0, i32 20
  %before = load ptr, ptr %record_place
  store ptr %numbers, ptr %record_place
  %site_place = getelementptr i64, ptr %record_place, i64 1
  store i64 %site, ptr %site_place
  %serial_place = getelementptr i64, ptr %record_place, i64 2
  %begins = icmp eq ptr %before, null
  br i1 %begins, label %count, label %counted
count:
  %number = atomicrmw add ptr @stopping_launches, i64 1 monotonic
  store i64 %number, ptr %serial_place
  br label %counted
counted:
  %switch_place = inttoptr i64 %switch to ptr
  %armed = load i8, ptr %switch_place
  %quiet = icmp eq i8 %armed, 0
  %stopped_place = getelementptr %launch, ptr %launch, i64 0, i32 11
  br i1 %quiet, label %leave, label %look
look:
  %already = load atomic i32, ptr %stopped_place monotonic, align 4
  %over = icmp ne i32 %already, 0
  br i1 %over, label %leave, label %ask
ask:
  %lock = call i32 @PyGILState_Ensure()
  %serial = load i64, ptr %serial_place
  %where = ptrtoint ptr %numbers to i64
  %answer = call ptr (ptr, ptr, ...) @PyObject_CallFunction(ptr @triptych_python_stopper, ptr @three_numbers,
                                                            i64 %serial, i64 %site, i64 %where)
  call void @Py_DecRef(ptr %answer)
  %raised = icmp eq ptr %answer, null
  br i1 %raised, label %keep, label %release
keep:
  call void @keep_exception(ptr %launch)
  br label %release
release:
  call void @PyGILState_Release(i32 %lock)
  br label %leave
leave:
  %stopped = load atomic i32, ptr %stopped_place monotonic, align 4
  ret i32 %stopped
}

; In a build for a debugger: the frames of the thread that fails are looked at while they are there.
define internal void @remember_fault(ptr %launch) cold {
entry:
  %record_place = getelementptr %launch, ptr %launch, i64 0, i32 20
  %numbers = load ptr, ptr %record_place
  %none = icmp eq ptr %numbers, null
  br i1 %none, label %leave, label %look
look:
  %site_place = getelementptr i64, ptr %record_place, i64 1
  %site = load i64, ptr %site_place
  %lock = call i32 @PyGILState_Ensure()
  %address = ptrtoint ptr %launch to i64
  %where = ptrtoint ptr %numbers to i64
  %answer = call ptr (ptr, ptr, ...) @PyObject_CallFunction(ptr @triptych_python_rememberer, ptr @three_numbers,
                                                            i64 %address, i64 %site, i64 %where)
  call void @Py_DecRef(ptr %answer)
  call void @PyErr_Clear()
  call void @PyGILState_Release(i32 %lock)
  br label %leave
leave:
  ret void
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
