"""Operators whose warm calls run without Python: boxed kernels in this process, and the specializations they try.

Input: the signature of an operator, the functions that run it in Python, and compiled functions as they come. Output:
kernels that PyTorch's dispatcher has. Where this version of PyTorch lacks something, or a signature has what boxed
kernels do not take, there are none, and the functions of Python serve.
"""

from __future__ import annotations

import ctypes
import struct
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

from triptych.compat.torch import torch
from triptych.driver.cache_misses import SealedError
from triptych.driver.compiling import CompiledFunction
from triptych.driver.jitting import MOST_WARM, Entry
from triptych.frameworks.boxed_kernels import (
    AUTOGRAD,
    FOLLOW,
    GRAD_MODE,
    GUARD,
    INTERCEPTED,
    KERNEL,
    NEW_HANDLE,
    PYTHON_FUNCTIONS,
    PYTHON_TRUE,
    REPORT,
    REQUIRES_GRAD,
    ROWS,
    RUN,
    TANGENT,
    UNDEFINED,
    WORDS,
    WRAP,
    TorchFacts,
    boxed_module,
)
from triptych.frameworks.boxed_tensors import KINDS, MOST_TYPES, TORCH_FUNCTIONS, BoxedForm
from triptych.frameworks.guard_words import GuardWords
from triptych.frameworks.operator_signatures import OperatorSignature
from triptych.interop.dlpack import ELEMENT_CODES, PACKED_ELEMENTS, array_type
from triptych.interop.torch_tensors import torch_fields
from triptych.ir.llvm.loader import LoadedObject, load_object
from triptych.ir.llvm.worker import Request
from triptych.support.config import OVERRIDES
from triptych.support.forking import PerProcess
from triptych.targets.cpu.runtime.kept_object import kept_object

_RECORDERS = ("Python", "Tracer", "FuncTorchDynamicLayerBackMode", "Functionalize")
"""Dispatch keys that are set for a thread where somebody has to see each operator."""
_ALIVE = 64
"""How many values of a variable stay."""
_STABLE = ("aoti_torch_library_init_impl", "aoti_torch_library_impl", "aoti_torch_delete_library_object")


class _Failure(threading.local):
    """The last failure of a kernel in a thread: the exception, and its text for PyTorch's error."""

    error: BaseException | None = None
    text: ctypes.Array[ctypes.c_char] = ctypes.create_string_buffer(1)


_FAILED = _Failure()


def form_of(signature: OperatorSignature, static: Mapping[str, bool]) -> BoxedForm | None:
    """What the kernel of an operator depends on; None where Python has to run it. `static` has each parameter that
    the function takes, and whether it selects a specialization."""
    given = [each.name for each in signature.given]
    kinds = tuple(each.kind for each in signature.given)
    likes = [like for like in signature.results.values() if isinstance(like, str)]
    has_streams = any(not each.kind for each in signature.parameters)
    if has_streams or not set(kinds) <= {*KINDS} or len(likes) != len(signature.results) or "Tensor" not in kinds:
        return None
    results = list(signature.results)
    return BoxedForm(
        signature.name,
        kinds,
        tuple(given.index(name) for name in signature.written),
        tuple(given.index(like) for like in likes),
        tuple(i for i, name in enumerate(given) if static[name]),
        tuple(
            ("given", given.index(name)) if name in given else ("result", results.index(name))
            for name, is_static in static.items()
            if not is_static
        ),
    )


class NativeOperator:
    """The kernels of one operator, as the dispatcher has them."""

    def __init__(self, form: BoxedForm, code: LoadedObject) -> None:
        self._form = form
        self._code = code
        self._entries: list[Entry] = []
        self._lock = PerProcess()
        self._alive: dict[str, deque[object]] = {}
        """What native code may still read of before, by variable: another thread may be in the kernel."""
        self._libraries: list[ctypes.c_void_p] = []

    def register(self, namespace: str, run: Callable[..., Any]) -> None:
        """Let the dispatcher have the kernel; `run` takes what it does not."""
        self._set(RUN, run)
        self._set(REPORT, note_failure)
        self._implement(namespace, "CPU", KERNEL)

    def register_autograd(self, namespace: str, follow: Callable[..., Any]) -> None:
        """The same for autograd."""
        self._set(FOLLOW, follow)
        self._implement(namespace, "Autograd", AUTOGRAD)

    def _implement(self, namespace: str, key: str, kernel: str) -> None:
        library, handle = _libtorch(), ctypes.c_void_p()
        library.aoti_torch_library_init_impl(namespace.encode(), key.encode(), b"triptych", 0, ctypes.byref(handle))
        address = ctypes.c_void_p(self._code.library[kernel])
        library.aoti_torch_library_impl(handle, self._form.name.encode(), address)
        self._libraries.append(handle)

    def unregister(self) -> None:
        """Take the kernels from the dispatcher: the operator is defined anew."""
        for handle in self._libraries:
            _libtorch().aoti_torch_delete_library_object(handle)
        self._libraries.clear()

    def add(self, entry: Entry) -> bool:
        """Let a specialization be called without Python; whether it can be."""
        if _row(self._form, entry) is None or OVERRIDES:
            return False
        with self._lock.here():
            self._entries = [each for each in self._entries if each.compiled is not entry.compiled and each.guard()]
            self._entries = [entry, *self._entries[: MOST_WARM - 1]]
            words = [word for each in self._entries for word in _row(self._form, each) or ()]
            rows = (ctypes.c_uint64 * (len(words) + 1))(*words, 0)
            self._store(WORDS, 0)
            self._set(GUARD, GuardWords([each.guard for each in self._entries], partial(self._store, WORDS)).ask)
            self._set(ROWS, (rows, self._entries), ctypes.addressof(rows))  # code stays mapped while it may run
        return True

    def _set(self, variable: str, value: object, address: int = 0) -> None:
        self._alive.setdefault(variable, deque(maxlen=_ALIVE)).append(value)
        self._store(variable, address or id(value))

    def _store(self, variable: str, address: int) -> None:
        ctypes.c_uint64.from_address(self._code.library[variable]).value = address


def _row(form: BoxedForm, entry: Entry) -> tuple[int, ...] | None:
    """The entry point and the constants of a specialization; None where Python has to call it."""
    address, constants = entry.compiled._loaded.address, constants_of(form, entry.static)
    if address is None or constants is None or not fits_boxed_call(form, entry.compiled):
        return None
    return address, *constants


def fits_boxed_call(form: BoxedForm, compiled: CompiledFunction) -> bool:
    """Whether compiled code takes what boxed kernels pass: each parameter as one value."""
    leaves = compiled._loaded.compiled.lowered.traced.parameters
    if compiled._loaded.packed is None or compiled.has_results or len(leaves) != len(form.order):
        return False
    is_tensor = [source == "result" or form.kinds[i] == "Tensor" for source, i in form.order]
    return is_tensor == [leaf.memory is not None for leaf in leaves]


def constants_of(form: BoxedForm, static: Sequence[object]) -> tuple[int, ...] | None:
    """The values that a specialization is for, as words; None where one has none."""
    if len(static) != len(form.constants):
        return None
    words = [_word(value, form.kinds[i]) for value, i in zip(static, form.constants, strict=True)]
    known = tuple(word for word in words if word is not None)
    return known if len(known) == len(words) else None


def _word(value: object, kind: str) -> int | None:
    """As the dispatcher passes it."""
    if kind == "bool":
        return int(bool(value)) if isinstance(value, bool) else None
    if kind == "int":
        return value % 2**64 if isinstance(value, int) and -(2**63) <= value < 2**63 else None
    if kind == "float" and isinstance(value, float):
        return int.from_bytes(struct.pack("<d", value), "little")
    return None


def native_operator(form: BoxedForm) -> NativeOperator | None:
    """The code of an operator; None where this version of PyTorch lacks what it needs, or a sealed process its code."""
    facts, symbols = _torch_facts(), _symbols()
    if facts is None or symbols is None:
        return None
    text = boxed_module(form, facts)
    try:
        made = kept_object(f"boxed kernel {form.name}", Request(emit=("object",)), text)
    except SealedError:  # the functions of Python need nothing that would have to be compiled
        return None
    return NativeOperator(form, load_object(made, KERNEL, symbols))


# failures -----------------------------------------------------------------------------------------------------------
def note_failure(error: BaseException) -> int:
    """Note what a kernel has raised in this thread; gives the address of its text."""
    if isinstance(error, RuntimeError):  # of an operator that was called on the way
        error = take_failure(error)
    _FAILED.error = error
    _FAILED.text = ctypes.create_string_buffer(str(error).encode() or type(error).__name__.encode())
    return ctypes.addressof(_FAILED.text)


def take_failure(reported: Exception) -> BaseException:
    """The exception behind PyTorch's error; itself where it is PyTorch's own."""
    error, text = _FAILED.error, _FAILED.text.value.decode(errors="replace")
    if error is None or not str(reported).startswith(text):
        return reported
    _FAILED.error = None
    return error


# PyTorch ------------------------------------------------------------------------------------------------------------
@cache
def _libtorch() -> ctypes.CDLL:
    return ctypes.CDLL(str(Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"))


@cache
def _symbols() -> Mapping[str, int] | None:
    """Addresses of what kernels call; None where one is missing."""
    fields, python = torch_fields(), ctypes.CDLL(torch._C.__file__)
    try:
        library = _libtorch()
        found = {name: _address(library, name) for name in (*TORCH_FUNCTIONS, NEW_HANDLE)}
        for name in _STABLE:
            _address(library, name)
        found |= {name: _address(python, name) for name in (WRAP, REQUIRES_GRAD)}
    except (OSError, AttributeError):
        return None
    if fields is None:
        return None
    found |= {GRAD_MODE: fields.grad_mode, TANGENT: fields.tangent, INTERCEPTED: fields.intercepted}
    found[UNDEFINED] = fields.undefined
    return found | {name: _address(ctypes.pythonapi, name) for name in (*PYTHON_FUNCTIONS, PYTHON_TRUE)}


def _address(library: ctypes.CDLL, name: str) -> int:
    return ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0


@cache
def _torch_facts() -> TorchFacts | None:
    fields = torch_fields()
    if fields is None or _symbols() is None:
        return None
    inside = torch._C
    with torch.utils._python_dispatch._disable_current_modes(), torch.inference_mode(False), torch.no_grad():
        usual = torch.zeros(1, device="cpu")
        numbers = {_type_number(fields.tensor, kind): code for kind, (_, code) in dlpack_types().items()}
    with torch.inference_mode():
        uncounted = torch.zeros(1, device="cpu")
    plain = tuple(inside._dispatch_keys(each).raw_repr() for each in (usual, uncounted))
    return TorchFacts(
        fields.keys,
        fields.gradient,
        fields.counter,
        fields.version,
        fields.tensor,
        plain,
        tuple(inside._dispatch_key_parse(key).value for key in _RECORDERS),
        tuple(numbers.get(number, 0) for number in range(MOST_TYPES)),
    )


def dlpack_types() -> dict[Any, tuple[str, int]]:
    """PyTorch's types with ours, and DLPack's code, bits and number of lanes in one word."""
    codes = {e: code | bits << 8 | 1 << 16 for e, (code, bits) in ELEMENT_CODES.items() if e not in PACKED_ELEMENTS}
    found = {getattr(torch, array_type(element), None): (element, code) for element, code in codes.items()}
    return {kind: named for kind, named in found.items() if isinstance(kind, torch.dtype)}


def _type_number(object_tensor: int, kind: object) -> int:
    tensor, number = torch.empty(0, dtype=kind, device="cpu"), ctypes.c_int32()
    _libtorch().aoti_torch_get_dtype(ctypes.c_void_p(id(tensor) + object_tensor), ctypes.byref(number))
    return number.value
