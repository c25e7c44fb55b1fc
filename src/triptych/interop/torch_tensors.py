"""Torch tensors at a call: autograd's state is checked before, and its version counter advanced after.

Where compiled code reads tensors itself it asks the same, by `torch_fields`. torch is never imported for this.

Torch tensor flags that compiled code reads first: no tracer, no gradient, no pending negation. Before it writes one, it
asks where autograd counts the changes of the tensor: its version. Asking through Python costs more than the whole call.
So the fields are read where this version of torch has them, which is found out by looking at tensors that have the
property and tensors that do not. Where that is not clear, None is the answer, and tensors are turned into views by
Python, which asks.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

from triptych.diagnostics.tensor_errors import UNFOLLOWED, UnsupportedTensorError
from triptych.interop.dlpack import ELEMENT_CODES, TensorFacts, TensorMemory, array_type, tensor_facts
from triptych.interop.torch_tracers import KEYS, check_untraced, interception_test

_OBJECT_WORDS, _TENSOR_WORDS = 6, 25
"""How much of the Python object and of torch's own is looked at, in words of 8 bytes; both are at least as large."""
_GETTER_OFFSET = 40
"""Where a getset descriptor has its definition, in every version of CPython that there is."""
_GRAD_MODE = "_ZN3c108GradMode10is_enabledEv"
_TANGENT = "_ZNK3c1010TensorImpl8_fw_gradEmRKN2at10TensorBaseE"
"""torch's C++ functions: whether this thread follows gradients, and the tangent of a tensor (the undefined tensor where
there is none, or nobody minds)."""
_COUNTER_BYTES = 32
"""How much of a counter of versions is looked at; it is at least as large."""


class TorchFields(ctypes.Structure):
    """Offsets in bytes, and the functions that are asked: of gradients, tangents, and whether anybody records."""

    _fields_ = [
        ("tensor", ctypes.c_int64),
        ("keys", ctypes.c_int64),
        ("negative", ctypes.c_uint64),
        ("gradient", ctypes.c_int64),
        ("getter", ctypes.c_void_p),
        ("closure", ctypes.c_void_p),
        ("intercepted", ctypes.c_void_p),
        ("interceptions", ctypes.c_int32 * len(KEYS)),
        ("grad_mode", ctypes.c_void_p),
        ("tangent", ctypes.c_void_p),
        ("undefined", ctypes.c_void_p),
        ("counter", ctypes.c_int64),
        ("version", ctypes.c_int64),
    ]


_TRIALS = 4
"""What lies between fields is what was in memory before: about one time in a hundred it looks like a field."""


class _Getset(ctypes.Structure):
    """Python's definition of an attribute that C code computes."""

    _fields_ = [(name, ctypes.c_void_p) for name in ("name", "getter", "setter", "doc", "closure")]


def is_torch(kind: type) -> bool:
    """Whether it is a class of torch's tensors; torch is not imported for the question."""
    torch = sys.modules.get("torch")
    return torch is not None and (kind is torch.Tensor or issubclass(kind, torch.Tensor))


@cache
def torch_fields() -> TorchFields | None:
    """Where the fields are; None when this version of torch is another one than we can read."""
    torch: Any = sys.modules["torch"]
    with torch.utils._python_dispatch._disable_current_modes():
        return next((found for found in (_found(torch) for _ in range(_TRIALS)) if found is not None), None)


# Any: torch as a module, which has no types here; so below.
def _found(torch: Any) -> TorchFields | None:
    with torch.inference_mode(False), torch.no_grad():
        plain = [torch.zeros(shape, dtype=torch.float32, device="cpu") for shape in ((3,), (2, 2), (0,), ())]
        negated = [torch._neg_view(tensor) for tensor in plain]
        followed = [torch.zeros(shape, device="cpu") for shape in ((3,), (2, 2), ())]
        before = [_words(tensor._cdata, _TENSOR_WORDS) for tensor in followed]
        for tensor in followed:  # the same tensors: what lies between fields is anything, and stays as it is
            tensor.requires_grad_()
    objects = [_words(id(tensor), _OBJECT_WORDS) for tensor in (*plain, *followed)]
    tensor = _only(_OBJECT_WORDS, lambda i: [words[i] for words in objects] == [t._cdata for t in (*plain, *followed)])
    usual, other, graded = ([_words(t._cdata, _TENSOR_WORDS) for t in group] for group in (plain, negated, followed))
    keys = _only(_TENSOR_WORDS, lambda i: _common_bit([(a[i], b[i]) for a, b in zip(usual, other, strict=True)]) != 0)
    gradient = _only(_TENSOR_WORDS, lambda i: all(b[i] and not a[i] for a, b in zip(before, graded, strict=True)))
    getter = _requires_grad(torch.Tensor)
    test, modes, counter = interception_test(), _modes(followed), _counter(torch)
    if tensor is None or keys is None or gradient is None:
        return None
    if getter is None or test is None or modes is None or counter is None:
        return None
    negative = _common_bit([(a[keys], b[keys]) for a, b in zip(usual, other, strict=True)])
    offsets = (8 * tensor, 8 * keys, negative, 8 * gradient)
    return TorchFields(*offsets, getter.getter, getter.closure, *test, *modes, *counter)


def _modes(followed: list[Any]) -> tuple[Any, ...] | None:
    """The functions that say whether gradients are followed and what a tangent is, and the tensor that is none."""
    library = ctypes.CDLL(sys.modules["torch"]._C.__file__)
    try:
        enabled, tangent = library[_GRAD_MODE], library[_TANGENT]
    except AttributeError:
        return None
    tangent.restype, tangent.argtypes = ctypes.c_void_p, (ctypes.c_void_p, ctypes.c_uint64, ctypes.c_void_p)
    handles = [ctypes.c_void_p(tensor._cdata) for tensor in followed]
    found = [ctypes.c_void_p.from_address(tangent(h, 0, ctypes.addressof(h))).value for h in handles]
    if len(set(found)) != 1 or not found[0]:
        return None
    addresses = (ctypes.cast(function, ctypes.c_void_p).value for function in (enabled, tangent))
    return (*addresses, found[0])


def _counter(torch: Any) -> tuple[int, int] | None:
    """Where a tensor has its counter of versions, which it shares with its views, and where the counter has the number.

    Tensors of inference mode have none.
    """
    with torch.inference_mode(False), torch.no_grad():
        tensors = [torch.zeros(3, device="cpu") for _ in range(4)]
        for changes, tensor in enumerate(tensors):
            for _ in range(11 + 7 * changes):
                torch.autograd.graph.increment_version(tensor)
        views = [tensor[1:] for tensor in tensors]
    with torch.inference_mode():
        uncounted = [torch.zeros(3, device="cpu") for _ in range(4)]
    own, shared, none = ([_words(t._cdata, _TENSOR_WORDS) for t in group] for group in (tensors, views, uncounted))
    counter = _only(_TENSOR_WORDS, lambda i: _is_counter([[w[i] for w in group] for group in (own, shared, none)]))
    if counter is None:
        return None
    numbers = [(ctypes.c_uint32 * (_COUNTER_BYTES // 4)).from_address(words[counter]) for words in own]
    versions = [tensor._version for tensor in tensors]
    version = _only(_COUNTER_BYTES // 4, lambda i: [counted[i] for counted in numbers] == versions)
    return None if version is None else (8 * counter, 4 * version)


def _is_counter(found: list[list[int]]) -> bool:
    """Whether a word of tensors, of their views and of uncounted tensors points to counters: each has its own."""
    own, shared, none = found
    return not any(none) and own == shared and all(own) and len({*own}) == len(own)


def _words(address: int, count: int) -> list[int]:
    return list((ctypes.c_uint64 * count).from_address(address))


def _only(count: int, holds: Callable[[int], bool]) -> int | None:
    """The one place where something holds."""
    found = [i for i in range(count) if holds(i)]
    return found[0] if len(found) == 1 else None


def _common_bit(pairs: list[tuple[int, int]]) -> int:
    """The one bit that is down in the first of every pair, up in the second, and the only difference; 0 for none."""
    differences = {first ^ second for first, second in pairs}
    bit = differences.pop() if len(differences) == 1 else 0
    return bit if bit.bit_count() == 1 and not any(first & bit for first, _ in pairs) else 0


def _requires_grad(tensor: type) -> _Getset | None:
    holder = next((cls for cls in tensor.__mro__ if "requires_grad" in cls.__dict__), None)
    descriptor = vars(holder)["requires_grad"] if holder is not None else None
    if type(descriptor).__name__ != "getset_descriptor":
        return None
    address = ctypes.c_void_p.from_address(id(descriptor) + _GETTER_OFFSET).value
    definition = _Getset.from_address(address or 0)
    return definition if ctypes.string_at(definition.name) == b"requires_grad" else None


# Plain tensors: in the CPU's memory as they are, followed and recorded by nobody. Asking each thing by itself, and then
# for a capsule, takes 90 µs; the set of dispatch keys of a tensor answers most questions at once.


def plain_memory(value: object) -> TensorMemory | None:
    """The memory of a plain tensor; None for all other values, which `check_settled` then judges."""
    if not is_torch(type(value)):
        return None
    classes, read = _plain_reader()
    return read(value) if type(value) in classes else None


@cache
def _plain_reader() -> tuple[tuple[type, ...], Callable[[Any], TensorMemory | None]]:
    """The classes whose tensors mean their memory, and what reads one that may be plain."""
    torch: Any = sys.modules["torch"]
    with torch.utils._python_dispatch._disable_current_modes(), torch._C.DisableTorchFunction():
        with torch.inference_mode(False):
            usual = torch.zeros(0, device="cpu")
        with torch.inference_mode():
            uncounted = torch.zeros(0, device="cpu")
    inside, forward = torch._C, torch.autograd.forward_ad
    keys_of, modes, tracer = inside._dispatch_keys, inside._len_torch_dispatch_stack, inside._get_tracing_state
    plain = frozenset(keys_of(tensor).raw_repr() for tensor in (usual, uncounted))
    function_modes, without_functions, follows = (
        inside._len_torch_function_stack,
        inside.DisableTorchFunction,
        torch.is_grad_enabled,
    )

    def read(value: Any) -> TensorMemory | None:
        if modes() or tracer() is not None or forward._current_level >= 0:
            return None
        if keys_of(value).raw_repr() not in plain:
            return None
        if function_modes():
            with without_functions():
                return memory_of(value)
        return memory_of(value)

    def memory_of(value: Any) -> TensorMemory | None:
        if value.requires_grad and follows():
            return None
        facts = _plain_facts(value.dtype, value.shape, value.stride())
        return None if facts is None else (facts, value.data_ptr(), value, value.untyped_storage(), value, False)

    return (torch.Tensor, torch.nn.Parameter), read


@lru_cache(maxsize=4096)
def _plain_facts(dtype: object, shape: tuple[int, ...], stride: tuple[int, ...]) -> TensorFacts | None:
    """None for types whose elements are no numbers of the language one by one."""
    name = str(dtype).rpartition(".")[2]
    element = next((element for element in ELEMENT_CODES if array_type(element) == name), None)
    return None if element is None else tensor_facts(*ELEMENT_CODES[element], tuple(shape), stride)


# Any: what offers memory is asked of its class; so in all of this file.
def check_settled(value: Any) -> None:
    """Refuse torch's tensors whose memory is not what they stand for, or whose changes autograd would have to know.

    A tensor that requires a gradient is one only where autograd follows: not under `torch.no_grad()`, nor in the
    `forward` of a `torch.autograd.Function`, whose `backward` says what the gradient is.
    """
    check_untraced(value)
    kind = type(value)
    if not hasattr(kind, "requires_grad"):
        return
    if lacks_memory(value):
        raise UnsupportedTensorError(
            f"this {kind.__name__} has no memory",
            found="a tensor on the device meta",
            expected="a tensor with elements",
            instead="`compile(function, x)`, which needs none, and a call of the result with tensors that have memory",
        )
    if value.requires_grad is True and _follows_gradients():
        error = UnsupportedTensorError(
            f"this {kind.__name__} requires a gradient, and autograd does not see what compiled code does",
            found="requires_grad=True while autograd follows",
            expected="a tensor that autograd does not follow",
            instead="`.detach()`, which shares the memory; `with torch.no_grad():`; or the call in the `forward` of a "
            "`torch.autograd.Function` whose `backward` computes the gradient",
        )
        if not UNFOLLOWED:
            raise error
        UNFOLLOWED[-1](error)
    if _has_tangent(value):
        raise UnsupportedTensorError(
            f"this {kind.__name__} carries a tangent, which compiled code would lose",
            found="a dual tensor of forward-mode differentiation",
            expected="a tensor without a tangent",
            instead="the call in the `forward` of a `torch.autograd.Function` with a `jvp`, or "
            "`torch.autograd.forward_ad.unpack_dual(x).primal`",
        )
    for bit, resolve in (("is_neg", "resolve_neg"), ("is_conj", "resolve_conj")):
        if hasattr(kind, bit) and getattr(value, bit)() is True:
            raise UnsupportedTensorError(
                f"the memory of this {kind.__name__} does not hold its elements yet",
                found=f"{bit}() is True: the elements are computed when they are read",
                expected="a tensor whose elements are in memory",
                instead=f"`.{resolve}()`",
            )


def check_described(value: Any) -> None:
    """Refuse what no function can be compiled for: what stands for other tensors, or is recorded."""
    if not lacks_memory(value):
        check_untraced(value)


def lacks_memory(value: Any) -> bool:
    """Whether a tensor has type, extents and strides only: one of `FakeTensorMode`, or on the device `meta`."""
    fakes: Any = sys.modules.get("torch._subclasses.fake_tensor")
    is_fake = fakes is not None and isinstance(value, fakes.FakeTensor)
    return is_fake or (is_torch(type(value)) and value.device.type == "meta")


def exporting(value: Any) -> Any:
    """What is asked for the memory: torch exports no tensor that requires a gradient, even where nobody follows it."""
    return value.detach() if getattr(value, "requires_grad", False) is True else value


def count_change(tensor: Any) -> None:
    """Tell autograd that a tensor has changed: a backward pass that needs what it has saved of it is then an error."""
    if not tensor.is_inference():
        sys.modules["torch"].autograd.graph.increment_version(tensor)


def _follows_gradients() -> bool:
    torch: Any = sys.modules.get("torch")
    return torch is None or torch.is_grad_enabled()


def _has_tangent(value: Any) -> bool:
    forward: Any = sys.modules.get("torch.autograd.forward_ad")
    if forward is None or forward._current_level < 0 or not isinstance(value, sys.modules["torch"].Tensor):
        return False
    return forward.unpack_dual(value).tangent is not None
