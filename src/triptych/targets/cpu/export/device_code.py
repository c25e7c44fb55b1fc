"""LLVM IR of an exported object whose kernels run on a GPU of NVIDIA: the cubin, and what loads it by the driver's API.

The driver is opened when the module is loaded, so that a program starts, and says what is missing, without one. A
handle holds the driver's launch function, the one that makes tensor maps, its version, its unload function, the loaded
module, and then the kernels.
"""

from __future__ import annotations

from triptych.objectstage.exports import DeviceCode
from triptych.targets.cpu.export.c_interface import NO_DEVICE, OK
from triptych.targets.cpu.export.llvm_lines import LlvmLines
from triptych.targets.cpu.runtime.pool_fault_code import text_global

LOAD, UNLOAD, HANDLE = "triptych_device_load", "triptych_device_unload", 8
"""Functions of a module, and where it keeps its handle."""
LAUNCH, ENCODE, VERSION, KERNELS = 0, 8, 16, 40
"""Offsets in a handle."""
_UNLOAD, _MODULE = 24, 32
RECORD = 48
"""Bytes of a `LaunchRecord`."""
_LIBRARY = "libcuda.so.1"
_NOW = 2


def device_code(prefix: str, code: DeviceCode) -> str:
    """The module's text."""
    loading = _Loading(prefix, code)
    body = loading.body()
    image = "".join(f"\\{byte:02X}" for byte in (*code.image, 0))  # the driver also takes PTX, which ends with a zero
    return f"""
@triptych.image = internal constant [{len(code.image) + 1} x i8] c"{image}", align 64
{loading.constants}
declare ptr @dlopen(ptr, i32)
declare ptr @dlsym(ptr, ptr)
declare ptr @calloc(i64, i64)
declare void @free(ptr)
declare i32 @triptych_native_fail_with(i32, ptr, i32)

define i32 @{LOAD}(ptr %module) {{
{body}
}}

define void @{UNLOAD}(ptr %module) {{
  %handle_place = getelementptr i8, ptr %module, i64 {HANDLE}
  %handle = load ptr, ptr %handle_place
  %unload_place = getelementptr i8, ptr %handle, i64 {_UNLOAD}
  %unload = load ptr, ptr %unload_place
  %loaded_place = getelementptr i8, ptr %handle, i64 {_MODULE}
  %loaded = load ptr, ptr %loaded_place
  %status = call i32 %unload(ptr %loaded)
  call void @free(ptr %handle)
  ret void
}}
"""


class _Loading:
    """The function that opens the driver and gives it the cubin; each step has words for its failure."""

    def __init__(self, prefix: str, code: DeviceCode) -> None:
        self._prefix = prefix
        self._code = code
        self._lines = LlvmLines()
        self._texts: dict[str, str] = {}

    @property
    def constants(self) -> str:
        return "".join(text_global(name, text) for text, name in self._texts.items())

    def body(self) -> str:
        lines = self._lines
        library = lines.set(f"call ptr @dlopen(ptr {self._text(_LIBRARY)}, i32 {_NOW})")
        self._require(f"icmp ne ptr {library}, null", f"there is no NVIDIA driver ({_LIBRARY}) on this machine")
        self._call(library, "cuInit", "i32 0", "the NVIDIA driver finds no GPU (CUDA error %d)")
        self._enter(library)
        places = KERNELS // 8 + len(self._code.kernels)
        handle = lines.set(f"call ptr @calloc(i64 {places}, i64 8)")
        self._require(f"icmp ne ptr {handle}, null", "there is no memory for a module")
        lines.put(f"ptr {self._function(library, 'cuLaunchKernelEx')}", handle, LAUNCH)
        encode = lines.set(f"call ptr @dlsym(ptr {library}, ptr {self._text('cuTensorMapEncodeTiled')})")
        lines.put(f"ptr {encode}", handle, ENCODE)  # null in a driver without it, which only programs with maps notice
        version = f"ptr {lines.place(handle, VERSION)}"
        self._call(library, "cuDriverGetVersion", version, "the driver has no version (CUDA error %d)")
        lines.put(f"ptr {self._function(library, 'cuModuleUnload')}", handle, _UNLOAD)
        loaded = lines.place(handle, _MODULE)
        refused = f"the driver refuses the code for {self._code.target} (CUDA error %d)"
        self._call(library, "cuModuleLoadData", f"ptr {loaded}, ptr @triptych.image", refused)
        module = lines.set(f"load ptr, ptr {loaded}")
        for i, kernel in enumerate(self._code.kernels):
            given = f"ptr {lines.place(handle, KERNELS + 8 * i)}, ptr {module}, ptr {self._text(kernel)}"
            self._call(library, "cuModuleGetFunction", given, f"the code has no kernel {kernel} (CUDA error %d)")
        lines.put(f"ptr {handle}", "%module", HANDLE)
        lines.leave(f"i32 {OK}")
        return lines.text

    def _enter(self, library: str) -> None:
        """The context of this thread, or the primary one of the first GPU, which CUDA's own libraries use."""
        lines = self._lines
        context, device = lines.room(8), lines.room(8)
        lines.put("ptr null", context, 0)
        self._call(library, "cuCtxGetCurrent", f"ptr {context}", "the driver has no context (CUDA error %d)")
        known = lines.set(f"icmp ne ptr {lines.field(context, 0, 'ptr')}, null")
        made, following = lines.label("make"), lines.label("entered")
        lines.add(f"br i1 {known}, label %{following}, label %{made}")
        lines.begin(made)
        self._call(library, "cuDeviceGet", f"ptr {device}, i32 0", "there is no GPU (CUDA error %d)")
        first = lines.field(device, 0, "i32")
        failed = "the GPU cannot be used (CUDA error %d)"
        self._call(library, "cuDevicePrimaryCtxRetain", f"ptr {context}, i32 {first}", failed)
        self._call(library, "cuCtxSetCurrent", f"ptr {lines.field(context, 0, 'ptr')}", failed)
        lines.add(f"br label %{following}")
        lines.begin(following)

    def _function(self, library: str, name: str) -> str:
        found = self._lines.set(f"call ptr @dlsym(ptr {library}, ptr {self._text(name)})")
        self._require(f"icmp ne ptr {found}, null", f"the NVIDIA driver is too old: it has no {name}")
        return found

    def _call(self, library: str, name: str, arguments: str, failure: str) -> None:
        function = self._function(library, name)
        status = self._lines.set(f"call i32 {function}({arguments})")
        self._require(f"icmp eq i32 {status}, 0", failure, status)

    def _require(self, condition: str, failure: str, status: str = "0") -> None:
        lines = self._lines
        holds = lines.set(condition)
        failed, following = lines.label("failed"), lines.label("next")
        lines.add(f"br i1 {holds}, label %{following}, label %{failed}")
        lines.begin(failed)
        text = self._text(f"{self._prefix}: {failure}")
        code = lines.set(f"call i32 @triptych_native_fail_with(i32 {NO_DEVICE}, ptr {text}, i32 {status})")
        lines.leave(f"i32 {code}")
        lines.begin(following)

    def _text(self, text: str) -> str:
        return "@" + self._texts.setdefault(text, f"triptych.device_text{len(self._texts)}")
