"""LLVM IR of a shared library of operators: boxed kernels without Python, and what registers them when it is loaded.

Input: operators with the entries of their exported specializations. Output: a module that calls those entries and
LibTorch's stable C functions, and nothing else. Where autograd follows, a written tensor gets another version by an
operator that changes nothing: the stable functions have none for it.
"""

from __future__ import annotations

from collections.abc import Sequence

from triptych.frameworks.boxed_tensors import (
    MOST_TYPES,
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
from triptych.targets.cpu.abi.abi import UNFIT
from triptych.targets.cpu.export.llvm_lines import LlvmLines, declarations
from triptych.targets.cpu.export.packed_entry import error_text_symbol
from triptych.targets.cpu.runtime.pool_fault_code import text_global

DESCRIPTION = "triptych_torch_description"
"""The text that says what Python adds: results of tensors without memory, and gradients."""
_NO_CHANGE = "aten::transpose_"
"""Of the first mode with itself: it changes a tensor in the view of autograd only."""
_FUNCTIONS = {
    "aoti_torch_new_tensor_handle": "i32(ptr, ptr)",
    "aoti_torch_call_dispatcher": "i32(ptr, ptr, ptr)",
    "aoti_torch_grad_mode_is_enabled": "zeroext i1()",
    "aoti_torch_library_init_fragment": "i32(ptr, ptr, i32, ptr)",
    "aoti_torch_library_init_impl": "i32(ptr, ptr, ptr, i32, ptr)",
    "aoti_torch_library_def": "i32(ptr, ptr)",
    "aoti_torch_library_impl": "i32(ptr, ptr, ptr)",
    "aoti_torch_delete_library_object": "i32(ptr)",
}


@dataclass(frozen=True, slots=True)
class LibraryEntry:
    """A specialization: the symbol of its entry, and the constants that it is for."""

    symbol: str
    constants: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class LibraryOperator:
    """An operator: its namespace, its schema without that, and what runs it."""

    namespace: str
    schema: str
    form: BoxedForm
    entries: tuple[LibraryEntry, ...]
    unfit: str
    """What is said of tensors that no entry is for."""


def library_module(operators: Sequence[LibraryOperator], types: dict[str, int], description: str) -> str:
    """The module's text. `types` has DLPack's code of each element type by the name that it has in LibTorch."""
    entries = {entry.symbol: "i32(ptr, i32, ptr)" for operator in operators for entry in operator.entries}
    texts = {error_text_symbol(symbol): "ptr()" for symbol in entries}
    numbers = {f"aoti_torch_dtype_{name}": "i32()" for name in types}
    constants = {"triptych.name": operators[0].namespace, "triptych.no_change": _NO_CHANGE, "triptych.empty": ""}
    constants |= {"triptych.cpu": "CPU", "triptych.source": "triptych"}
    for i, operator in enumerate(operators):
        constants |= {f"triptych.namespace{i}": operator.namespace, f"triptych.schema{i}": operator.schema}
        constants |= {f"triptych.operator{i}": operator.form.name, f"triptych.unfit{i}": operator.unfit}
    visible = text_global(DESCRIPTION, description).replace("internal ", "", 1)
    kernels = "".join(_kernel(i, operator) for i, operator in enumerate(operators))
    return "".join(
        [
            visible,
            *(text_global(name, text) for name, text in constants.items()),
            f"@triptych.types = internal global [{MOST_TYPES} x i32] zeroinitializer\n",
            f"@triptych.libraries = internal global [{2 * len(operators)} x ptr] zeroinitializer\n",
            *(f"@llvm.global_{what} = {_listed(what)}\n" for what in ("ctors", "dtors")),
            declarations({**_FUNCTIONS, **entries, **texts, **numbers}),
            tensor_functions(),
            _changed(),
            raising_function(),
            kernels,
            _begin(operators, types),
            _end(operators),
        ]
    )


def _listed(what: str) -> str:
    kind = "{ i32, ptr, ptr }"
    return f"appending global [1 x {kind}] [{kind} {{ i32 65535, ptr @triptych.{what}, ptr null }}]"


def _kernel(number: int, operator: LibraryOperator) -> str:
    form, lines = operator.form, LlvmLines()
    text = lines.room(8)
    lines.put(f"ptr @triptych.unfit{number}", text, 0)
    call = begin_call(lines, form, "failed")
    result = lines.room(16)
    for i, entry in enumerate(operator.entries):
        for column, constant in zip(form.constants, entry.constants, strict=True):
            given = lines.field("%stack", 8 * column, "i64")
            lines.go_on_if(lines.set(f"icmp eq i64 {given}, {constant}"), f"other{i}")
        lines.put("i32 0", result, 0)
        lines.put("i64 0", result, 8)
        status = lines.set(f"call i32 @{entry.symbol}(ptr {call.packed}, i32 {len(form.order)}, ptr {result})")
        lines.add(f"switch i32 {status}, label %failed{i} [ i32 0, label %done i32 {UNFIT}, label %other{i} ]")
        lines.begin(f"failed{i}")
        lines.put(f"ptr {lines.set(f'call ptr @{error_text_symbol(entry.symbol)}()')}", text, 0)
        lines.jump("failed")
        lines.begin(f"other{i}")
    lines.jump("failed")
    lines.begin("done")
    for i in form.written:
        lines.add(f"call void @triptych.changed(ptr {call.handles[i]})")
    end_call(lines, call)
    lines.begin("failed")
    delete(lines, call.handles.values())
    delete_made(lines, call.made)
    reported = lines.field(text, 0, "ptr")
    lines.add(f"musttail call void @triptych.raise(ptr {reported}, i64 %given, i64 %wanted)")
    lines.leave()
    return boxed_function(lines, f"triptych.kernel{number}", "internal ")


def _changed() -> str:
    """One more version of a tensor, where autograd follows."""
    lines = LlvmLines()
    stack = lines.room(24)
    lines.go_on_if(lines.set("call zeroext i1 @aoti_torch_grad_mode_is_enabled()"), "done")
    lines.add(f"call i32 @aoti_torch_new_tensor_handle(ptr %handle, ptr {stack})")
    for i in (1, 2):
        lines.put("i64 0", stack, 8 * i)
    arguments = f"ptr @triptych.no_change, ptr @triptych.empty, ptr {stack}"
    lines.go_on_if(
        lines.set(f"icmp eq i32 {lines.set(f'call i32 @aoti_torch_call_dispatcher({arguments})')}, 0"), "done"
    )
    delete(lines, [lines.field(stack, 0, "ptr")])
    lines.jump("done")
    lines.begin("done")
    lines.leave()
    return lines.function("internal void @triptych.changed(ptr %handle)")


def _begin(operators: Sequence[LibraryOperator], types: dict[str, int]) -> str:
    """Fill the table of types, and register the operators."""
    lines = LlvmLines()
    for name, code in types.items():
        number = lines.set(f"zext i32 {lines.set(f'call i32 @aoti_torch_dtype_{name}()')} to i64")
        lines.put(f"i32 {code}", lines.element("@triptych.types", number, "i32"), 0)
    for i, operator in enumerate(operators):
        definition, kernels = (lines.place("@triptych.libraries", 8 * (2 * i + j)) for j in (0, 1))
        where = f"ptr @triptych.source, i32 {i}"
        namespace = f"ptr @triptych.namespace{i}"
        lines.add(f"call i32 @aoti_torch_library_init_fragment({namespace}, {where}, ptr {definition})")
        handle = lines.field(definition, 0, "ptr")
        lines.add(f"call i32 @aoti_torch_library_def(ptr {handle}, ptr @triptych.schema{i})")
        lines.add(f"call i32 @aoti_torch_library_init_impl({namespace}, ptr @triptych.cpu, {where}, ptr {kernels})")
        handle = lines.field(kernels, 0, "ptr")
        named = f"ptr @triptych.operator{i}, ptr @triptych.kernel{i}"
        lines.add(f"call i32 @aoti_torch_library_impl(ptr {handle}, {named})")
        assert operator.entries, "an operator without code is not exported"
    lines.leave()
    return lines.function("internal void @triptych.ctors()")


def _end(operators: Sequence[LibraryOperator]) -> str:
    """Take everything back, the kernels first."""
    lines = LlvmLines()
    for i in reversed(range(2 * len(operators))):
        handle = lines.field("@triptych.libraries", 8 * i, "ptr")
        lines.add(f"call i32 @aoti_torch_delete_library_object(ptr {handle})")
    lines.leave()
    return lines.function("internal void @triptych.dtors()")
