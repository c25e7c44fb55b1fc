"""LLVM IR of boxed kernels: what PyTorch's dispatcher calls for an operator, by LibTorch's stable C functions.

Input: the form of an operator: its parameters, which of them are written, how results are made. Output: a module of two
kernels, `(stack, arguments, results)`. The first describes tensors as DLPack does, makes the results, and tries the
compiled specializations one after the other; where none fits it calls Python. The second stands at autograd's key: it
goes on to the first where nobody follows or records, and else to Python.
"""

from __future__ import annotations

from triptych.frameworks.boxed_tensors import (
    BoxedForm,
    begin_call,
    boxed_function,
    delete,
    delete_made,
    end_call,
    raising_function,
    tensor_functions,
)
from triptych.support.dataclass import dataclass
from triptych.targets.cpu.abi.abi import QUIET, UNFIT
from triptych.targets.cpu.export.llvm_lines import LlvmLines, declarations

KERNEL, AUTOGRAD = "triptych_boxed_kernel", "triptych_boxed_autograd"
_VARIABLES = tuple("triptych_" + name for name in ("rows", "words", "guard", "run", "follow", "report"))
ROWS, WORDS, GUARD, RUN, FOLLOW, REPORT = _VARIABLES
"""Variables of the module that Python sets: the specializations; words that are as they were while these may be used,
and what tells it otherwise (`GuardWords`); what runs where they may not; what follows gradients; and what keeps an
exception and gives the address of its text."""

WRAP, REQUIRES_GRAD = "_Z16THPVariable_WrapRKN2at10TensorBaseE", "_ZNK3c1010TensorImpl13requires_gradEv"
"""C++ functions: the Python object of a tensor, and whether it requires a gradient."""
GRAD_MODE, TANGENT, INTERCEPTED = "triptych_grad_mode", "triptych_tangent", "triptych_intercepted"
PYTHON_FUNCTIONS = {
    "PyGILState_Ensure": "i32()",
    "PyGILState_Release": "void(i32)",
    "PyObject_CallNoArgs": "ptr(ptr)",
    "PyObject_CallObject": "ptr(ptr, ptr)",
    "PyObject_CallOneArg": "ptr(ptr, ptr)",
    "PyTuple_New": "ptr(i64)",
    "PyTuple_SetItem": "i32(ptr, i64, ptr)",
    "PyTuple_GetItem": "ptr(ptr, i64)",
    "PyLong_FromLongLong": "ptr(i64)",
    "PyLong_AsVoidPtr": "ptr(ptr)",
    "PyFloat_FromDouble": "ptr(double)",
    "PyBool_FromLong": "ptr(i64)",
    "PyErr_Fetch": "void(ptr, ptr, ptr)",
    "PyErr_NormalizeException": "void(ptr, ptr, ptr)",
    "PyErr_Clear": "void()",
    "PyException_SetTraceback": "i32(ptr, ptr)",
    "Py_DecRef": "void(ptr)",
}
PYTHON_TRUE = "_Py_TrueStruct"
UNDEFINED = "triptych_undefined"
"""The tensor that stands for none."""
NEW_HANDLE = "aoti_torch_new_tensor_handle"
_FUNCTIONS = {
    **PYTHON_FUNCTIONS,
    NEW_HANDLE: "i32(ptr, ptr)",
    WRAP: "ptr(ptr)",
    REQUIRES_GRAD: "zeroext i1(ptr)",
    GRAD_MODE: "zeroext i1()",
    TANGENT: "ptr(ptr, i64, ptr)",
    INTERCEPTED: "zeroext i1(i32)",
}


@dataclass(frozen=True, slots=True)
class TorchFacts:
    """What is read of tensors: offsets in bytes, dispatch keys of plain tensors and of those who record, and of each
    type its code in DLPack (0 for none). Addresses are symbols, so that the code serves other processes."""

    keys: int
    gradient: int
    counter: int
    version: int
    object_tensor: int
    """Where the Python object of a tensor has it."""
    plain: tuple[int, ...]
    recorders: tuple[int, ...]
    types: tuple[int, ...]


def boxed_module(form: BoxedForm, facts: TorchFacts) -> str:
    """The module's text."""
    kernels = [_kernel(form), _python_call("triptych.python", RUN, form, facts)]
    kernels += [_autograd(form, facts), _python_call("triptych.python_follow", FOLLOW, form, facts)]
    types = ", ".join(f"i32 {code}" for code in facts.types)
    name = f'c"{form.name}\\00"'
    return f"""
@triptych.types = internal constant [{len(facts.types)} x i32] [{types}]
@{PYTHON_TRUE} = external global i8
@{UNDEFINED} = external global i8
@triptych.name = internal constant [{len(form.name) + 1} x i8] {name}
{"".join(f"@{variable} = global ptr null{chr(10)}" for variable in _VARIABLES)}
{declarations(_FUNCTIONS)}{tensor_functions()}{_holds()}{_unfollowed(facts)}{_changed(facts)}{_report()}
{"".join(kernels)}
"""


def _kernel(form: BoxedForm) -> str:
    lines = LlvmLines()
    known = lines.set(f"load atomic ptr, ptr @{ROWS} acquire, align 8")
    lines.go_on_if(lines.set(f"icmp ne ptr {known}, null"), "python")
    lines.go_on_if(lines.set("call i1 @triptych.holds()"), "python")
    # Again: what was asked last may be of newer rows, which another thread has made for a change.
    rows = lines.set(f"load atomic ptr, ptr @{ROWS} acquire, align 8")
    call = begin_call(lines, form, "discard", "triptych.unfollowed")
    given = {i: lines.field("%stack", 8 * i, "i64") for i in form.constants}
    _search(lines, form, rows, call.packed, given)
    for i in form.written:
        lines.add(f"call void @triptych.changed(ptr {call.handles[i]})")
    end_call(lines, call)
    lines.begin("failed")
    delete(lines, call.handles.values())
    delete_made(lines, call.made)
    lines.add("musttail call void @triptych.report(ptr %stack, i64 %given, i64 %wanted)")
    lines.leave()
    lines.begin("discard")
    delete_made(lines, call.made)
    lines.add("br label %python")
    lines.begin("python")
    lines.add("musttail call void @triptych.python(ptr %stack, i64 %given, i64 %wanted)")
    lines.leave()
    return boxed_function(lines, KERNEL)


def _search(lines: LlvmLines, form: BoxedForm, rows: str, packed: str, given: dict[int, str]) -> None:
    """Try the rows, each of which is an entry and the constants that it is for; what follows runs after a success."""
    result, width = lines.room(16), 8 * (1 + len(form.constants))
    place = lines.room(8)
    lines.put(f"ptr {rows}", place, 0)
    lines.add("br label %search")
    lines.begin("search")
    row = lines.field(place, 0, "ptr")
    lines.put(f"ptr {lines.place(row, width)}", place, 0)
    entry = lines.field(row, 0, "ptr")
    lines.go_on_if(lines.set(f"icmp ne ptr {entry}, null"), "discard")
    for column, value in enumerate(given.values(), 1):
        lines.go_on_if(lines.set(f"icmp eq i64 {lines.field(row, 8 * column, 'i64')}, {value}"), "search")
    lines.put("i32 0", result, 0)
    lines.put("i64 0", result, 8)
    quiet = f"ptr inttoptr (i64 {QUIET} to ptr)"
    status = lines.set(f"call i32 {entry}({quiet}, ptr {packed}, i32 {len(form.order)}, ptr {result})")
    lines.add(f"switch i32 {status}, label %failed [ i32 0, label %done i32 {UNFIT}, label %search ]")
    lines.begin("done")


def _python_call(name: str, function: str, form: BoxedForm, facts: TorchFacts) -> str:
    """A call of Python with the objects of what the stack has, and what it returns as handles."""
    lines = LlvmLines()
    lock = lines.set("call i32 @PyGILState_Ensure()")
    arguments = lines.set(f"call ptr @PyTuple_New(i64 {len(form.kinds)})")
    for i, kind in enumerate(form.kinds):
        if kind == "Tensor":
            handle = lines.field("%stack", 8 * i, "ptr")
            value = lines.set(f"call ptr @{WRAP}(ptr {handle})")
            delete(lines, [handle])
        elif kind == "float":
            value = lines.set(f"call ptr @PyFloat_FromDouble(double {lines.field('%stack', 8 * i, 'double')})")
        else:
            maker = "PyBool_FromLong" if kind == "bool" else "PyLong_FromLongLong"
            value = lines.set(f"call ptr @{maker}(i64 {lines.field('%stack', 8 * i, 'i64')})")
        lines.add(f"call i32 @PyTuple_SetItem(ptr {arguments}, i64 {i}, ptr {value})")
    called = lines.set(f"load ptr, ptr @{function}")
    made = lines.set(f"call ptr @PyObject_CallObject(ptr {called}, ptr {arguments})")
    lines.add(f"call void @Py_DecRef(ptr {arguments})")
    lines.go_on_if(lines.set(f"icmp ne ptr {made}, null"), "failed")
    for j in range(len(form.results)):
        result = made if len(form.results) == 1 else lines.set(f"call ptr @PyTuple_GetItem(ptr {made}, i64 {j})")
        held, place = lines.place(result, facts.object_tensor), lines.place("%stack", 8 * j)
        lines.add(f"call i32 @{NEW_HANDLE}(ptr {held}, ptr {place})")
    lines.add(f"call void @Py_DecRef(ptr {made})")
    lines.add(f"call void @PyGILState_Release(i32 {lock})")
    lines.leave()
    lines.begin("failed")
    lines.add(f"call void @PyGILState_Release(i32 {lock})")
    lines.add("musttail call void @triptych.report(ptr %stack, i64 %given, i64 %wanted)")
    lines.leave()
    return boxed_function(lines, name, "internal ")


def _autograd(form: BoxedForm, facts: TorchFacts) -> str:
    lines = LlvmLines()
    for key in facts.recorders:
        recorded = lines.set(f"call zeroext i1 @{INTERCEPTED}(i32 {key})")
        lines.go_on_if(lines.set(f"xor i1 {recorded}, true"), "python")
    for i in form.tensors:
        handle = lines.field("%stack", 8 * i, "ptr")
        keys = lines.field(lines.field(handle, 0, "ptr"), facts.keys, "i64")
        is_plain = "false"
        for known in facts.plain:
            is_plain = lines.set(f"or i1 {is_plain}, {lines.set(f'icmp eq i64 {keys}, {known}')}")
        lines.go_on_if(is_plain, "python")
        lines.go_on_if(lines.set(f"call i1 @triptych.unfollowed(ptr {handle})"), "python")
    lines.add(f"musttail call void @{KERNEL}(ptr %stack, i64 %given, i64 %wanted)")
    lines.leave()
    lines.begin("python")
    lines.add("musttail call void @triptych.python_follow(ptr %stack, i64 %given, i64 %wanted)")
    lines.leave()
    return boxed_function(lines, AUTOGRAD)


def _holds() -> str:
    """Whether what the specializations have read is still the same."""
    lines = LlvmLines()
    pair = lines.room(8)
    words = lines.set(f"load atomic ptr, ptr @{WORDS} acquire, align 8")
    lines.put(f"ptr {words}", pair, 0)
    lines.branch(lines.set(f"icmp eq ptr {words}, null"), "ask", "compare")
    lines.begin("compare")
    now = lines.field(pair, 0, "ptr")
    place = lines.field(now, 0, "ptr")
    lines.go_on_if(lines.set(f"icmp ne ptr {place}, null"), "unchanged")
    lines.put(f"ptr {lines.place(now, 16)}", pair, 0)
    is_same = lines.set(f"icmp eq i64 {lines.field(place, 0, 'i64')}, {lines.field(now, 8, 'i64')}")
    lines.branch(is_same, "compare", "ask")
    lines.begin("unchanged")
    lines.leave("i1 true")
    lines.begin("ask")
    guard, lock = lines.set(f"load ptr, ptr @{GUARD}"), lines.set("call i32 @PyGILState_Ensure()")
    answer = lines.set(f"call ptr @PyObject_CallNoArgs(ptr {guard})")
    is_true = lines.set(f"icmp eq ptr {answer}, @{PYTHON_TRUE}")
    lines.branch(lines.set(f"icmp eq ptr {answer}, null"), "clear", "leave")
    lines.begin("clear")
    lines.add("call void @PyErr_Clear()")
    lines.jump("leave")
    lines.begin("leave")
    lines.add(f"call void @Py_DecRef(ptr {answer})")
    lines.add(f"call void @PyGILState_Release(i32 {lock})")
    lines.leave(f"i1 {is_true}")
    return lines.function("internal i1 @triptych.holds()")


def _unfollowed(facts: TorchFacts) -> str:
    """Whether autograd has no business with a tensor here: neither a gradient nor a tangent."""
    lines = LlvmLines()
    tensor = lines.field("%handle", 0, "ptr")
    gradient = lines.field(tensor, facts.gradient, "ptr")
    lines.go_on_if(lines.set(f"icmp ne ptr {gradient}, null"), "yes")
    requires = lines.set(f"call zeroext i1 @{REQUIRES_GRAD}(ptr {tensor})")
    lines.go_on_if(requires, "differentiating")
    follows = lines.set(f"call zeroext i1 @{GRAD_MODE}()")
    lines.branch(follows, "no", "differentiating")
    lines.begin("differentiating")
    tangent = lines.set(f"call ptr @{TANGENT}(ptr {tensor}, i64 0, ptr %handle)")
    is_plain = lines.set(f"icmp eq ptr {lines.field(tangent, 0, 'ptr')}, @{UNDEFINED}")
    lines.leave(f"i1 {is_plain}")
    for label, answer in (("yes", "true"), ("no", "false")):
        lines.begin(label)
        lines.leave(f"i1 {answer}")
    return lines.function("internal i1 @triptych.unfollowed(ptr %handle)")


def _changed(facts: TorchFacts) -> str:
    """One more version of a tensor; those of inference mode have none."""
    lines = LlvmLines()
    counter = lines.field(lines.field("%handle", 0, "ptr"), facts.counter, "ptr")
    lines.go_on_if(lines.set(f"icmp ne ptr {counter}, null"), "done")
    lines.set(f"atomicrmw add ptr {lines.place(counter, facts.version)}, i32 1 monotonic")
    lines.jump("done")
    lines.begin("done")
    lines.leave()
    return lines.function("internal void @triptych.changed(ptr %handle)")


def _report() -> str:
    """Let Python keep the exception that is set, and make its text PyTorch's error.

    The last step is a jump: an exception of C++ passes no frames of this module.
    """
    lines = LlvmLines()
    kind, error, frames = (lines.room(8) for _ in range(3))
    lock = lines.set("call i32 @PyGILState_Ensure()")
    for function in ("PyErr_Fetch", "PyErr_NormalizeException"):
        lines.add(f"call void @{function}(ptr {kind}, ptr {error}, ptr {frames})")
    parts = [lines.field(place, 0, "ptr") for place in (error, kind, frames)]
    lines.go_on_if(lines.set(f"icmp ne ptr {parts[2]}, null"), "keep")
    lines.add(f"call i32 @PyException_SetTraceback(ptr {parts[0]}, ptr {parts[2]})")
    lines.jump("keep")
    lines.begin("keep")
    reporter = lines.set(f"load ptr, ptr @{REPORT}")
    address = lines.set(f"call ptr @PyObject_CallOneArg(ptr {reporter}, ptr {parts[0]})")
    text = lines.set(f"call ptr @PyLong_AsVoidPtr(ptr {address})")
    for part in (address, *parts):
        lines.add(f"call void @Py_DecRef(ptr {part})")
    lines.add(f"call void @PyGILState_Release(i32 {lock})")
    lines.add(f"musttail call void @triptych.raise(ptr {text}, i64 %given, i64 %wanted)")
    lines.leave()
    return boxed_function(lines, "triptych.report", "internal ") + raising_function()
