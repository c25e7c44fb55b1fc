"""LLVM IR that boxed kernels share: tensors by LibTorch's stable C functions, and what compiled code takes.

Input: the form of an operator: its parameters, which of them are written, how results are made. Output: texts that
describe a tensor as DLPack does, make a new one like it, and pack arguments.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from triptych.frameworks.operator_signatures import SYMBOLIC
from triptych.interop.dlpack import CPU
from triptych.support.dataclass import dataclass
from triptych.targets.cpu.abi.abi import BOOL_TAG, FLOAT_TAG, INT_TAG, VIEW_TAG
from triptych.targets.cpu.export.llvm_lines import LlvmLines, declarations

TORCH_FUNCTIONS = {
    **{f"aoti_torch_get_{what}": "i32(ptr, ptr)" for what in ("data_ptr", "dim", "sizes", "strides", "dtype")},
    "aoti_torch_is_contiguous": "i32(ptr, ptr)",
    "aoti_torch_empty_strided": "i32(i64, ptr, ptr, i32, i32, i32, ptr)",
    "aoti_torch_delete_tensor_object": "i32(ptr)",
    "aoti_torch_check": "void(i1 zeroext, ptr, ptr, i32, ptr)",
}
"""LibTorch's own, whose names and types stay the same: what tensors are read, made and deleted with, and errors."""
TAGS = {"int": INT_TAG, SYMBOLIC: INT_TAG, "float": FLOAT_TAG, "bool": BOOL_TAG}
KINDS = ("Tensor", *TAGS)
"""What boxed kernels take; optional tensors and text are Python's business."""
_MOST_MODES = 64
MOST_TYPES = 64
"""PyTorch numbers its types from 0."""


@dataclass(frozen=True, slots=True)
class BoxedForm:
    """What a kernel depends on; operators that agree in it have the same code."""

    name: str
    kinds: tuple[str, ...]
    """Of what a call gives: of `KINDS`."""
    written: tuple[int, ...]
    results: tuple[int, ...]
    """Of each result, the tensor that it is like."""
    constants: tuple[int, ...]
    """Parameters that select a specialization."""
    order: tuple[tuple[str, int], ...]
    """What compiled code takes: ("given", number) or ("result", number)."""

    @property
    def tensors(self) -> tuple[int, ...]:
        return tuple(i for i, kind in enumerate(self.kinds) if kind == "Tensor")


@dataclass(frozen=True, slots=True)
class BoxedCall:
    """Names of values: handles of the tensors of a call by their numbers, where those of results are, and arguments."""

    handles: Mapping[int, str]
    made: Sequence[str]
    packed: str


def begin_call(lines: LlvmLines, form: BoxedForm, refused: str, asked: str = "") -> BoxedCall:
    """Describe tensors, make results and pack what compiled code takes. Where that is not possible, or the function
    `asked` of tensors says no, go to a block that deletes the results."""
    made = [lines.room(8) for _ in form.results]
    for place in made:
        lines.put("ptr null", place, 0)
    handles: dict[int, str] = {i: lines.field("%stack", 8 * i, "ptr") for i in form.tensors}
    views: dict[tuple[str, int], str] = {}
    for i, handle in handles.items():
        views["given", i] = view = lines.room(48)
        if asked:
            lines.go_on_if(lines.set(f"call i1 @{asked}(ptr {handle})"), refused)
        lines.go_on_if(lines.set(f"call i1 @triptych.describe(ptr {handle}, ptr {view})"), refused)
    for j, like in enumerate(form.results):
        views["result", j] = view = lines.room(48)
        of = f"ptr {handles[like]}, ptr {views['given', like]}"
        lines.go_on_if(lines.set(f"call i1 @triptych.like({of}, ptr {made[j]}, ptr {view})"), refused)
    return BoxedCall(handles, made, _packed_arguments(lines, form, views))


def end_call(lines: LlvmLines, call: BoxedCall) -> None:
    """Delete what was given, and give the results."""
    delete(lines, call.handles.values())
    for j, place in enumerate(call.made):
        lines.put(f"ptr {lines.field(place, 0, 'ptr')}", "%stack", 8 * j)
    lines.leave()


def boxed_function(lines: LlvmLines, name: str, linkage: str = "") -> str:
    """A function that the dispatcher calls, or one of the same type."""
    return lines.function(f"{linkage}void @{name}(ptr %stack, i64 %given, i64 %wanted) uwtable")


def _packed_arguments(lines: LlvmLines, form: BoxedForm, views: dict[tuple[str, int], str]) -> str:
    """The arguments of compiled code."""
    packed = lines.room(16 * max(1, len(form.order)))
    for place, (source, i) in enumerate(form.order):
        if (source, i) in views:
            tag, payload = VIEW_TAG, f"ptr {views[source, i]}"
        else:
            tag, payload = TAGS[form.kinds[i]], f"i64 {lines.field('%stack', 8 * i, 'i64')}"
        lines.put(f"i32 {tag}", packed, 16 * place)
        lines.put("i32 0", packed, 16 * place + 4)
        lines.put(payload, packed, 16 * place + 8)
    return packed


def delete(lines: LlvmLines, handles: Iterable[str]) -> None:
    for handle in handles:
        lines.add(f"call i32 @aoti_torch_delete_tensor_object(ptr {handle})")


def delete_made(lines: LlvmLines, places: Sequence[str]) -> None:
    for place in places:
        handle = lines.field(place, 0, "ptr")
        there, following = lines.label("there"), lines.label("next")
        lines.add(f"br i1 {lines.set(f'icmp ne ptr {handle}, null')}, label %{there}, label %{following}")
        lines.begin(there)
        delete(lines, [handle])
        lines.add(f"br label %{following}")
        lines.begin(following)


def tensor_functions() -> str:
    """The functions `@triptych.describe` and `@triptych.like`, which a table `@triptych.types` belongs to."""
    return declarations({**TORCH_FUNCTIONS, **_LLVM_FUNCTIONS}) + _describe() + _like()


_LLVM_FUNCTIONS = {"llvm.umax.i64": "i64(i64, i64)", "llvm.memcpy.p0.p0.i64": "void(ptr, ptr, i64, i1)"}
_DEVICE, _DEVICE_NUMBER, _RANK, _TYPE, _SHAPE, _STRIDES, _OFFSET = 8, 12, 16, 20, 24, 32, 40
"""Where DLPack's description has its parts; the address of the memory comes first."""


def _describe() -> str:
    """A tensor as DLPack describes it; false for one without memory, or of a type that the table has not."""
    lines = LlvmLines()
    dim, type_place = lines.room(8), lines.room(8)
    asked = (
        ("data_ptr", "%view"),
        ("sizes", lines.place("%view", _SHAPE)),
        ("strides", lines.place("%view", _STRIDES)),
    )
    for what, place in (*asked, ("dim", dim), ("dtype", type_place)):
        lines.add(f"call i32 @aoti_torch_get_{what}(ptr %tensor, ptr {place})")
    number = lines.set(f"zext i32 {lines.field(type_place, 0, 'i32')} to i64")
    lines.go_on_if(lines.set(f"icmp ult i64 {number}, {MOST_TYPES}"), "refused")
    code = lines.set(f"load i32, ptr {lines.element('@triptych.types', number, 'i32')}")
    rank = lines.set(f"trunc i64 {lines.field(dim, 0, 'i64')} to i32")
    for value, offset in ((f"i32 {CPU}", _DEVICE), ("i32 0", _DEVICE_NUMBER), ("i64 0", _OFFSET)):
        lines.put(value, "%view", offset)
    lines.put(f"i32 {rank}", "%view", _RANK)
    lines.put(f"i32 {code}", "%view", _TYPE)
    is_there = lines.set(f"icmp ne ptr {lines.field('%view', 0, 'ptr')}, null")
    is_known = lines.set(f"icmp ne i32 {code}, 0")
    lines.leave(f"i1 {lines.set(f'and i1 {is_there}, {is_known}')}")
    lines.begin("refused")
    lines.leave("i1 false")
    return lines.function("internal i1 @triptych.describe(ptr %tensor, ptr %view) uwtable")


def _like() -> str:
    """A new tensor with the shape, the type and the order of strides of another one, and no gaps; and its description.

    `_like` in `torch_operators` says the same for tensors without memory.
    """
    lines = LlvmLines()
    type_place, contiguous, strides = lines.room(8), lines.room(8), lines.room(8 * _MOST_MODES)
    lines.add(f"call i32 @aoti_torch_get_dtype(ptr %tensor, ptr {type_place})")
    lines.add(f"call i32 @aoti_torch_is_contiguous(ptr %tensor, ptr {contiguous})")
    dim = lines.set(f"zext i32 {lines.field('%described', _RANK, 'i32')} to i64")
    sizes, order = lines.field("%described", _SHAPE, "ptr"), lines.field("%described", _STRIDES, "ptr")
    step, left = lines.room(8), lines.room(8)
    lines.put("i64 1", step, 0)
    lines.put(f"i64 {dim}", left, 0)
    is_contiguous = lines.set(f"icmp ne i8 {lines.field(contiguous, 0, 'i8')}, 0")
    lines.branch(is_contiguous, "row_major", "clear")
    _row_major(lines, strides, sizes, step, left)
    _in_order(lines, strides, sizes, order, step, dim)
    lines.begin("make")
    number = lines.field(type_place, 0, "i32")
    made = f"i64 {dim}, ptr {sizes}, ptr {strides}, i32 {number}, i32 0, i32 -1, ptr %made"
    status = lines.set(f"call i32 @aoti_torch_empty_strided({made})")
    lines.go_on_if(lines.set(f"icmp eq i32 {status}, 0"), "unmade")
    handle = lines.field("%made", 0, "ptr")
    lines.add("call void @llvm.memcpy.p0.p0.i64(ptr %view, ptr %described, i64 48, i1 false)")
    lines.add(f"call i32 @aoti_torch_get_data_ptr(ptr {handle}, ptr %view)")
    lines.add(f"call i32 @aoti_torch_get_strides(ptr {handle}, ptr {lines.place('%view', _STRIDES)})")
    memory = lines.field("%view", 0, "ptr")
    lines.leave(f"i1 {lines.set(f'icmp ne ptr {memory}, null')}")
    lines.begin("unmade")
    lines.leave("i1 false")
    parameters = "ptr %tensor, ptr %described, ptr %made, ptr %view"
    return lines.function(f"internal i1 @triptych.like({parameters}) uwtable")


def _row_major(lines: LlvmLines, strides: str, sizes: str, step: str, left: str) -> None:
    """From the last mode to the first."""
    lines.begin("row_major")
    lines.go_on_if(lines.set(f"icmp ne i64 {lines.field(left, 0, 'i64')}, 0"), "make")
    mode = lines.set(f"sub i64 {lines.field(left, 0, 'i64')}, 1")
    now = lines.field(step, 0, "i64")
    lines.put(f"i64 {now}", lines.element(strides, mode), 0)
    size = lines.field(lines.element(sizes, mode), 0, "i64")
    at_least_one = lines.set(f"call i64 @llvm.umax.i64(i64 {size}, i64 1)")
    lines.put(f"i64 {lines.set(f'mul i64 {now}, {at_least_one}')}", step, 0)
    lines.put(f"i64 {mode}", left, 0)
    lines.jump("row_major")


def _in_order(lines: LlvmLines, strides: str, sizes: str, order: str, step: str, dim: str) -> None:
    """The order of the strides: each time the smallest that is left, of equal ones the last."""
    count, placed, best, smallest = (lines.room(8) for _ in range(4))
    lines.begin("clear")
    for place in (count, placed):
        lines.put("i64 0", place, 0)
    lines.jump("clearing")
    lines.begin("clearing")
    mode = lines.field(count, 0, "i64")
    lines.go_on_if(lines.set(f"icmp ne i64 {mode}, {dim}"), "placing")
    lines.put("i64 -1", lines.element(strides, mode), 0)
    lines.put(f"i64 {lines.set(f'add i64 {mode}, 1')}", count, 0)
    lines.jump("clearing")
    lines.begin("placing")
    lines.go_on_if(lines.set(f"icmp ne i64 {lines.field(placed, 0, 'i64')}, {dim}"), "make")
    lines.put("i64 0", count, 0)
    lines.put(f"i64 {2**63 - 1}", smallest, 0)
    lines.jump("searching")
    lines.begin("searching")
    mode = lines.field(count, 0, "i64")
    lines.go_on_if(lines.set(f"icmp ne i64 {mode}, {dim}"), "found")
    lines.put(f"i64 {lines.set(f'add i64 {mode}, 1')}", count, 0)
    is_left = lines.set(f"icmp eq i64 {lines.field(lines.element(strides, mode), 0, 'i64')}, -1")
    stride = lines.field(lines.element(order, mode), 0, "i64")
    is_small = lines.set(f"icmp sle i64 {stride}, {lines.field(smallest, 0, 'i64')}")
    lines.go_on_if(lines.set(f"and i1 {is_left}, {is_small}"), "searching")
    lines.put(f"i64 {stride}", smallest, 0)
    lines.put(f"i64 {mode}", best, 0)
    lines.jump("searching")
    lines.begin("found")
    mode, now = lines.field(best, 0, "i64"), lines.field(step, 0, "i64")
    lines.put(f"i64 {now}", lines.element(strides, mode), 0)
    size = lines.field(lines.element(sizes, mode), 0, "i64")
    lines.put(f"i64 {lines.set(f'mul i64 {now}, {size}')}", step, 0)
    before = lines.field(placed, 0, "i64")
    lines.put(f"i64 {lines.set(f'add i64 {before}, 1')}", placed, 0)
    lines.jump("placing")


def raising_function() -> str:
    """`@triptych.raise` makes a text PyTorch's error, of the type of a boxed function, which jumps there."""
    lines = LlvmLines()
    where = "ptr @triptych.name, ptr @triptych.name, i32 0"
    lines.add(f"tail call void @aoti_torch_check(i1 zeroext false, {where}, ptr %stack)")
    lines.leave()
    return boxed_function(lines, "triptych.raise", "internal ").replace("uwtable", "uwtable noinline")
