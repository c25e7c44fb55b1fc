"""LLVM IR by which the Python entry point reads tensors: every kind ends as a DLPack description of its memory.

`triptych.read` looks the object's type up in the table of `native_types`. A NumPy array is described from its fields,
another library's tensor by that library, a view of ours is described already, and what NumPy takes without copying is
made an array for the length of the call. What cannot be read gives null, as do torch's tensors whose memory is not what
they stand for (`torch_fields`): Python then says why. Where the function writes, autograd is told after the call by one
more version of the tensor, which is an atomic addition.
"""

from __future__ import annotations

import ctypes

from triptych.interop.dlpack import CPU, ELEMENT_CODES, DLTensor
from triptych.interop.numpy_arrays import ARRAY_OFFSETS, ELEMENT_OFFSETS
from triptych.interop.torch_tensors import TorchFields
from triptych.stages import Leaf, Memory
from triptych.targets.cpu.abi.abi import VIEW_TAG
from triptych.targets.cpu.calling.native_types import WRITEABLE

TENSOR_FUNCTIONS = ("PyObject_GetAttr", "PyLong_AsVoidPtr", "PyErr_Clear")

TORCH_OFFSETS = {field[0]: getattr(TorchFields, field[0]).offset for field in TorchFields._fields_}

TRUE, READ_NAME, WRITE_NAME, TYPES, ELEMENTS = 3, 6, 7, 8, 9
"""Words of the entry point's site: Python's True, names of the attributes of a view, and the two tables."""


def tensor_argument(i: int, leaf: Leaf, memory: Memory) -> str:
    """The block `argument<i>` for a tensor."""
    rank, size = len(memory.shape), max(1, ELEMENT_CODES[leaf.dtype][1] // 8)
    return f"""
argument{i}:
  %place{i} = getelementptr ptr, ptr %arguments, i64 {i}
  %object{i} = load ptr, ptr %place{i}
  %any{i} = getelementptr %triptych.any, ptr %packed, i64 {i}
  %view{i} = call ptr @triptych.read(ptr %site, ptr %object{i}, ptr %description{i}, ptr %strides{i}, i32 {rank},
                                     i64 {size}, i1 {"true" if memory.written else "false"}, ptr %listened,
                                     ptr %version{i}, ptr %held{i})
  %payload{i} = getelementptr %triptych.any, ptr %any{i}, i64 0, i32 2
  store i32 {VIEW_TAG}, ptr %any{i}
  store ptr %view{i}, ptr %payload{i}
  %taken{i} = icmp ne ptr %view{i}, null
  br i1 %taken{i}, label %argument{i + 1}, label %elsewhere
"""


TENSOR_SPACE = """
  %listened = alloca i1
  store i1 false, ptr %listened"""
"""Whether it is known, in this call, that nobody records what torch does: once is enough, and each time takes 8 ns."""


def tensor_space(i: int, memory: Memory) -> str:
    """Stack space for the description that `argument<i>` makes."""
    return f"""
  %description{i} = alloca %triptych.tensor
  %strides{i} = alloca [{len(memory.shape)} x i64]
  %version{i} = alloca ptr
  store ptr null, ptr %version{i}
  %held{i} = alloca ptr
  store ptr null, ptr %held{i}"""


def tensor_change(i: int) -> str:
    """What follows a call that may have written to `argument<i>`."""
    return f"  call void @triptych.changed(ptr %version{i})\n"


def tensor_release(i: int, where: str) -> str:
    """What follows every call: the array that `argument<i>` was made into goes, if there is one."""
    return f"""  %made{i}_{where} = load ptr, ptr %held{i}
  call void @Py_DecRef(ptr %made{i}_{where})
"""


def _load(name: str, kind: str, place: str, offset: int) -> str:
    return f"""
  %{name}_place = getelementptr i8, ptr {place}, i64 {offset}
  %{name} = load {kind}, ptr %{name}_place"""


def _store(field: int, kind: str, value: str, name: str) -> str:
    return f"""
  %{name}_field = getelementptr %triptych.tensor, ptr %view, i64 0, i32 {field}
  store {kind} {value}, ptr %{name}_field"""


READ_TENSORS = f"""
%triptych.tensor = type {{ ptr, i32, i32, i32, i32, ptr, ptr, i64 }}

declare ptr @PyObject_GetAttr(ptr, ptr)
declare ptr @PyLong_AsVoidPtr(ptr)
declare void @PyErr_Clear()

; where autograd counts the changes of a tensor; tensors of inference mode are not counted
define internal void @triptych.find_version(ptr %object, ptr %asked, ptr %version) noinline optnone {{
  %tensor_field = load i64, ptr %asked
  {_load("counter_field", "i64", "%asked", TORCH_OFFSETS["counter"])}
  {_load("version_field", "i64", "%asked", TORCH_OFFSETS["version"])}
  %tensor_place = getelementptr i8, ptr %object, i64 %tensor_field
  %tensor = load ptr, ptr %tensor_place
  %counter_place = getelementptr i8, ptr %tensor, i64 %counter_field
  %counter = load ptr, ptr %counter_place
  %is_counted = icmp ne ptr %counter, null
  %place = getelementptr i8, ptr %counter, i64 %version_field
  %found = select i1 %is_counted, ptr %place, ptr null
  store ptr %found, ptr %version
  ret void
}}

define internal void @triptych.changed(ptr %version) noinline optnone {{
  %place = load ptr, ptr %version
  %is_counted = icmp ne ptr %place, null
  br i1 %is_counted, label %count, label %done
count:
  %before = atomicrmw add ptr %place, i32 1 monotonic
  br label %done
done:
  ret void
}}

define internal ptr @triptych.read(
    ptr %site, ptr %object, ptr %view, ptr %strides, i32 %rank, i64 %size, i1 %written, ptr %listened,
    ptr %version, ptr %held
) noinline optnone {{
start:
  %names = select i1 %written, i64 {WRITE_NAME}, i64 {READ_NAME}
  %name_place = getelementptr ptr, ptr %site, i64 %names
  {_load("type", "ptr", "%object", 8)}
  {_load("types", "ptr", "%site", 8 * TYPES)}
  {_load("elements", "ptr", "%site", 8 * ELEMENTS)}
  br label %search
search:
  %entry = phi ptr [ %types, %start ], [ %next_entry, %step ]
  %known = load ptr, ptr %entry
  %found = icmp eq ptr %known, %type
  br i1 %found, label %reader, label %step
step:
  %next_entry = getelementptr ptr, ptr %entry, i64 3
  %at_end = icmp eq ptr %known, null
  br i1 %at_end, label %unread, label %search
reader:
  {_load("how", "ptr", "%entry", 8)}
  %number = ptrtoint ptr %how to i64
  switch i64 %number, label %foreign [ i64 1, label %array i64 2, label %own i64 3, label %other ]

other:
  {_load("converter", "ptr", "%entry", 16)}
  %given = alloca ptr
  store ptr %object, ptr %given
  %made = call ptr @PyObject_Vectorcall(ptr %converter, ptr %given, i64 1, ptr null)
  store ptr %made, ptr %held
  %unmade = icmp eq ptr %made, null
  br i1 %unmade, label %failed, label %array

foreign:
  {_load("asked", "ptr", "%entry", 16)}
  %nothing_asked = icmp eq ptr %asked, null
  br i1 %nothing_asked, label %describing, label %listening
listening:
  %known_silent = load i1, ptr %listened
  br i1 %known_silent, label %asking, label %listen
listen:
  {_load("intercepted", "ptr", "%asked", TORCH_OFFSETS["intercepted"])}
  {_load("mode_key", "i32", "%asked", TORCH_OFFSETS["interceptions"])}
  {_load("tracer_key", "i32", "%asked", TORCH_OFFSETS["interceptions"] + 4)}
  %moded = call zeroext i1 %intercepted(i32 %mode_key)
  %traced = call zeroext i1 %intercepted(i32 %tracer_key)
  %recorded = or i1 %moded, %traced
  store i1 true, ptr %listened
  br i1 %recorded, label %unread, label %asking
asking:
  %tensor_field = load i64, ptr %asked
  {_load("keys_field", "i64", "%asked", TORCH_OFFSETS["keys"])}
  {_load("negative", "i64", "%asked", TORCH_OFFSETS["negative"])}
  {_load("gradient_field", "i64", "%asked", TORCH_OFFSETS["gradient"])}
  %tensor_place = getelementptr i8, ptr %object, i64 %tensor_field
  %tensor = load ptr, ptr %tensor_place
  %keys_place = getelementptr i8, ptr %tensor, i64 %keys_field
  %keys = load i64, ptr %keys_place
  %gradient_place = getelementptr i8, ptr %tensor, i64 %gradient_field
  %gradient = load i64, ptr %gradient_place
  %negated = and i64 %keys, %negative
  %settled = icmp eq i64 %negated, 0
  br i1 %settled, label %following, label %unread
following:
  %unknown_to_autograd = icmp eq i64 %gradient, 0
  br i1 %unknown_to_autograd, label %finding, label %getting
getting:
  {_load("getter", "ptr", "%asked", TORCH_OFFSETS["getter"])}
  {_load("closure", "ptr", "%asked", TORCH_OFFSETS["closure"])}
  {_load("true", "ptr", "%site", 8 * TRUE)}
  %requires = call ptr %getter(ptr %object, ptr %closure)
  %unanswered = icmp eq ptr %requires, null
  br i1 %unanswered, label %failed, label %answered
answered:
  call void @Py_DecRef(ptr %requires)
  %required = icmp eq ptr %requires, %true
  br i1 %required, label %requiring, label %differentiating
requiring:
  {_load("grad_mode", "ptr", "%asked", TORCH_OFFSETS["grad_mode"])}
  %followed = call zeroext i1 %grad_mode()
  br i1 %followed, label %unread, label %differentiating
differentiating:
  {_load("tangent_of", "ptr", "%asked", TORCH_OFFSETS["tangent"])}
  {_load("undefined", "ptr", "%asked", TORCH_OFFSETS["undefined"])}
  %tangent_place = call ptr %tangent_of(ptr %tensor, i64 0, ptr %tensor_place)
  %tangent = load ptr, ptr %tangent_place
  %plain = icmp eq ptr %tangent, %undefined
  br i1 %plain, label %finding, label %unread
finding:
  call void @triptych.find_version(ptr %object, ptr %asked, ptr %version)
  br label %describing
describing:
  %status = call i32 %how(ptr %object, ptr %view)
  %described = icmp eq i32 %status, 0
  br i1 %described, label %look, label %failed
look:
  ; none, or the tensor stands for others and has no memory: Python tells
  %memory = load ptr, ptr %view
  %absent = icmp eq ptr %memory, null
  br i1 %absent, label %unread, label %done
failed:
  call void @PyErr_Clear()
  ret ptr null
done:
  ret ptr %view

own:
  %name = load ptr, ptr %name_place
  %attribute = call ptr @PyObject_GetAttr(ptr %object, ptr %name)
  %missing = icmp eq ptr %attribute, null
  br i1 %missing, label %failed, label %addressed
addressed:
  %address = call ptr @PyLong_AsVoidPtr(ptr %attribute)
  call void @Py_DecRef(ptr %attribute)
  {_load("behind", "ptr", "%address", ctypes.sizeof(DLTensor))}
  %anonymous = icmp eq ptr %behind, null
  %uncounted = select i1 %written, i1 %anonymous, i1 true
  br i1 %uncounted, label %viewed, label %counted
counted:
  {_load("behind_asked", "ptr", "%address", ctypes.sizeof(DLTensor) + 8)}
  %unknown_torch = icmp eq ptr %behind_asked, null
  br i1 %unknown_torch, label %unread, label %known_torch
known_torch:
  call void @triptych.find_version(ptr %behind, ptr %behind_asked, ptr %version)
  br label %viewed
viewed:
  ret ptr %address

array:
  %subject = phi ptr [ %object, %reader ], [ %made, %other ]
  {_load("flags", "i32", "%subject", ARRAY_OFFSETS["flags"])}
  %writeable_bit = and i32 %flags, {WRITEABLE}
  %writeable = icmp ne i32 %writeable_bit, 0
  %not_written = xor i1 %written, true
  %allowed = or i1 %writeable, %not_written
  {_load("dtype", "ptr", "%subject", ARRAY_OFFSETS["type"])}
  {_load("scalar", "ptr", "%dtype", ELEMENT_OFFSETS["class"])}
  {_load("order", "i8", "%dtype", ELEMENT_OFFSETS["byte_order"])}
  %native = icmp eq i8 %order, {ord("=")}
  %orderless = icmp eq i8 %order, {ord("|")}
  %ordered = or i1 %native, %orderless
  %usable = and i1 %allowed, %ordered
  br i1 %usable, label %search_element, label %unread
search_element:
  %element = phi ptr [ %elements, %array ], [ %next_element, %step_element ]
  %class = load ptr, ptr %element
  %same = icmp eq ptr %class, %scalar
  br i1 %same, label %describe, label %step_element
step_element:
  %next_element = getelementptr i64, ptr %element, i64 2
  %no_more = icmp eq ptr %class, null
  br i1 %no_more, label %unread, label %search_element
describe:
  {_load("code", "i32", "%element", 8)}
  {_load("data", "ptr", "%subject", ARRAY_OFFSETS["data"])}
  {_load("modes", "i32", "%subject", ARRAY_OFFSETS["rank"])}
  {_load("extents", "ptr", "%subject", ARRAY_OFFSETS["shape"])}
  {_load("steps", "ptr", "%subject", ARRAY_OFFSETS["stride"])}
  {_store(0, "ptr", "%data", "data")}
  {_store(1, "i32", str(CPU), "device")}
  {_store(2, "i32", "0", "device_number")}
  {_store(3, "i32", "%modes", "rank")}
  {_store(4, "i32", "%code", "type")}
  {_store(5, "ptr", "%extents", "shape")}
  {_store(6, "ptr", "%strides", "stride")}
  {_store(7, "i64", "0", "offset")}
  %ranked = icmp eq i32 %modes, %rank
  br i1 %ranked, label %stride, label %unread
stride:
  %mode = phi i32 [ 0, %describe ], [ %next_mode, %whole ]
  %all = icmp eq i32 %mode, %rank
  br i1 %all, label %done, label %convert
convert:
  %position = zext i32 %mode to i64
  %bytes_place = getelementptr i64, ptr %steps, i64 %position
  %bytes = load i64, ptr %bytes_place
  %step_size = sdiv i64 %bytes, %size
  %rest = srem i64 %bytes, %size
  %stride_place = getelementptr i64, ptr %strides, i64 %position
  store i64 %step_size, ptr %stride_place
  %exact = icmp eq i64 %rest, 0
  br i1 %exact, label %whole, label %unread
whole:
  %next_mode = add i32 %mode, 1
  br label %stride
unread:
  ret ptr null
}}
"""
