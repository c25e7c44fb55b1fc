"""Torch tracers (`torch.compile`, `make_fx`, `torch.jit.trace`, …): they record torch's calls, not compiled code.

`torch.compile` traces an operator in the place of a call of a `@jit` function: `in_graph`. It leaves all other calls of
ours out of its graph: `opaque` says so, with the reason. Under the other tracers a call would happen once, while they
record, and be missing from the recording: `check_untraced` refuses it. torch is never imported for this: who has not
imported it traces nothing.
"""

from __future__ import annotations

import ctypes
import sys
import weakref
from collections.abc import Callable
from functools import cache
from types import CodeType
from typing import Any, TypeVar

from triptych.diagnostics.tensor_errors import TracedByTorchError
from triptych.support.forking import import_late
from triptych.support.wording import with_article

F = TypeVar("F", bound=Callable[..., Any])

CUSTOM_OP = 'call an operator, `triptych.torch.op(function, "library::name", ...)`, in the place of the function'
REASON = f"Triptych compiles the function to machine code, which torch cannot look into; in one graph: {CUSTOM_OP}"
_INCLUDED = "_ZN3c104impl28tls_is_dispatch_key_includedENS_11DispatchKeyE"
"""torch's C++ function that says whether a kind of interception is on in this thread."""
KEYS = ("Python", "Tracer")
"""The kinds that record: modes such as that of `make_fx`, and the tracer of `torch.jit.trace`."""

_FAKES, _PROXIES, _FUNCTIONAL = "a tracer with fake tensors", "make_fx", "functionalization"
_FAKE_MODE = "FakeTensorMode"
_RECORDERS = (_FAKES, _PROXIES, _FUNCTIONAL, _FAKE_MODE)
"""Tracers that record operators of torch, whoever calls them."""

_UNTOLD: dict[int, weakref.ref[CodeType]] = {}
"""Code that torch has not been told of, by id: a code object is equal to others and costs much to hash."""


BARE_CALLS = "triptych.frameworks.torch_bare_calls"
"""The module that makes an operator of a bare call."""
IN_GRAPH: list[Callable[..., Any]] = []
"""What makes a call of an operator out of a call that `torch.compile` traces; empty until it meets the first one."""
_GRAPHS = "triptych.frameworks.torch_graphs"


def _load_graphs() -> bool:
    import_late(_GRAPHS)
    return True


_constant: Any = _load_graphs
_constant._dynamo_marked_constant = True


def in_graph(function: object, *args: object, **kwargs: object) -> Any:
    """What `torch.compile` traces in the place of a call of a function of ours."""
    _load_graphs()
    return IN_GRAPH[0](function, *args, **kwargs)


def as_operator(function: F) -> F:
    """Mark a method by which a function is called: `opaque`, but where the call can be one of an operator."""
    marked: Any = opaque(function)
    marked._torchdynamo_inline = in_graph
    return function


def opaque(function: F) -> F:
    """Let `torch.compile` break its graph at calls of `function`, and leave alone whatever they run."""
    marked: Any = function
    marked._torchdynamo_disable, marked._torchdynamo_disable_msg = True, REASON
    code, key = function.__code__, id(function.__code__)
    _UNTOLD[key] = weakref.ref(code, lambda _: _UNTOLD.pop(key, None))
    return function


def tell_torch() -> None:
    """Register opaque code with torch, if it is there: else it would look at every frame below for tensors."""
    if not _UNTOLD:
        return
    frames: Any = sys.modules.get("torch._C._dynamo.eval_frame")
    set_strategy = getattr(frames, "set_code_exec_strategy", None)
    if set_strategy is None:
        return
    skip = frames._FrameExecStrategy(frames._FrameAction.SKIP, frames._FrameAction.SKIP)
    for reference in list(_UNTOLD.values()):
        code = reference()
        if code is not None:
            set_strategy(code, skip)
    _UNTOLD.clear()


def check_untraced(value: object) -> None:
    """Refuse a tensor that stands for others, and any tensor of torch while a tracer records."""
    torch, tracer = _imported(), None
    if torch is not None:
        if isinstance(value, torch.fx.Proxy):
            tracer = "torch.fx.symbolic_trace"
        elif isinstance(value, torch.Tensor):
            tracer = _stands_for_others(torch, value) or _recording(torch)
    if tracer is not None:
        raise TracedByTorchError(
            f"{tracer} cannot see what this call does",
            found=f"{with_article(type(value).__name__)} while {tracer} is at work",
            expected="a call while nobody records, with tensors that have memory of their own",
            instead=CUSTOM_OP,
        )


def is_recorded(value: object) -> bool:
    """Whether a tracer would record an operator of torch that is called with a tensor: the call can be one, then."""
    torch = _imported()
    if torch is None or not isinstance(value, torch.Tensor):
        return False
    return (_stands_for_others(torch, value) or _recording(torch)) in _RECORDERS


# Any: torch as a module, which has no types here; so below.
def _imported() -> Any:
    """None where it is not, or is still being imported."""
    torch = sys.modules.get("torch")
    return torch if torch is not None and hasattr(torch, "fx") else None


def _stands_for_others(torch: Any, tensor: object) -> str | None:
    if torch._C._functorch.is_functorch_wrapped_tensor(tensor):
        batched = torch._C._functorch.is_batchedtensor(tensor)
        return "torch.vmap" if batched else "a transform of torch.func"
    if type(tensor).__name__ == "FunctionalTensor":
        return _FUNCTIONAL
    if torch._is_functional_tensor(tensor):
        return "torch.func.functionalize"
    fakes: Any = sys.modules.get("torch._subclasses.fake_tensor")
    if fakes is not None and isinstance(tensor, fakes.FakeTensor):
        return _FAKES
    return None


def _recording(torch: Any) -> str | None:
    """The tracer that records what torch runs in this thread. Other modes only watch, and may."""
    if torch._C._get_tracing_state() is not None:
        return "torch.jit.trace"
    keys = torch._C._TorchDispatchModeKey
    modes = ((keys.PROXY, _PROXIES), (keys.FUNCTIONAL, _FUNCTIONAL), (keys.FAKE, _FAKE_MODE))
    return next((tracer for key, tracer in modes if torch._C._get_dispatch_mode(key) is not None), None)


@cache
def interception_test() -> tuple[int, tuple[int, ...]] | None:
    """The address of torch's function and the numbers of `KEYS` for it; None if this torch has none such."""
    inside: Any = sys.modules["torch"]._C
    try:
        included = ctypes.CDLL(inside.__file__)[_INCLUDED]
    except AttributeError:
        return None
    numbers = tuple(inside._dispatch_key_parse(key).value for key in KEYS)
    address = ctypes.cast(included, ctypes.c_void_p).value
    return None if address is None else (address, numbers)
