"""Code of the program that torch calls back: backward passes, hooks, operators, threads. It sees the GPU, as all other.

Torch switches function modes off while one of them handles a call, and a new thread begins with none. So whatever runs
the program's own Python there turns the mode on again. An operator that the program has for CUDA runs where its
tensors are, in the CPU's memory; one that it has for both devices runs by the placement of its tensors. The transforms
of functions (`vmap`, `grad`, `jvp`) show the program tensors that stand for others: they are where those are.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any, Protocol

import torch
import torch._functorch.autograd_function as functions_under_transforms
import torch._functorch.eager_transforms as transforms
import torch._functorch.vmap as mapping
import torch.autograd.forward_ad as forward_ad

from triptych.compat.errors import CudaCallError
from triptych.compat.torch_on_cpu.function_mode import switched_on
from triptych.compat.torch_on_cpu.placement import THREAD, is_placed, place, stays_on_cpu, tensors_in, unmarked_on_gpu

Replacement = tuple[Any, str, Any]
"""A namespace of torch, a name in it, and what it is meanwhile."""

_OF_STAND_INS: tuple[tuple[Any, tuple[str, ...]], ...] = (
    (mapping, ("_add_batch_dim", "_remove_batch_dim")),
    (transforms, ("_wrap_for_grad", "_unwrap_for_grad")),
    (functions_under_transforms, ("_add_batch_dim", "_wrap_for_grad", "_unwrap_for_grad")),
    (forward_ad, ("make_dual", "unpack_dual")),
)
"""By which torch makes a tensor that stands for another, and gets the other one back."""


def replacements() -> list[Replacement]:
    """What is to stand where while programs for GPUs run here."""
    variable = torch.autograd.Variable
    return [
        (variable, "_execution_engine", _Engine(variable._execution_engine)),
        (
            torch.autograd.graph.saved_tensors_hooks,
            "__init__",
            _hooks(torch.autograd.graph.saved_tensors_hooks.__init__),
        ),
        (torch.library.Library, "impl", _impl(torch.library.Library.impl)),
        (torch, "compile", _eager(torch.compile)),
        (threading.Thread, "start", _start(threading.Thread.start)),
        *((module, name, _where_given(getattr(module, name))) for module, names in _OF_STAND_INS for name in names),
    ]


def _where_given(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def run(*args: object, **kwargs: object) -> Any:
        result = function(*args, **kwargs)
        if any(map(is_placed, tensors_in((args, kwargs)))):
            for tensor in tensors_in(result):
                place(tensor, on_gpu=True)
        return result

    return run


class _RunsBackward(Protocol):
    def run_backward(self, *args: object, **kwargs: object) -> Any: ...


class _Engine:
    """Torch's engine of backward passes: functions and hooks of the program run in it."""

    def __init__(self, engine: _RunsBackward) -> None:
        self._engine = engine

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def run_backward(self, *args: object, **kwargs: object) -> Any:
        """The engine takes the modes of the thread that calls it along to its own threads."""
        with unmarked_on_gpu(any(map(is_placed, tensors_in((args, kwargs))))), switched_on():
            return self._engine.run_backward(*args, **kwargs)


def _eager(compile_: Callable[..., Any]) -> Callable[..., Any]:
    """`torch.compile` that leaves functions as they are: it would compile them for a GPU.

    What runs here in their place is the same, call by call. Torch's tracer would take the mode for the program's code.
    """

    @functools.wraps(compile_)
    def compile_nothing(*args: object, **options: object) -> Any:
        return compile_(*args, **{**options, "disable": True})

    return compile_nothing


def _hooks(init: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(init)
    def init_with_the_mode(hooks: object, pack_hook: Callable[[Any], Any], unpack_hook: Callable[[Any], Any]) -> None:
        def pack(tensor: torch.Tensor) -> Any:
            with unmarked_on_gpu(THREAD.latest_on_gpu), switched_on():
                return pack_hook(tensor)

        init(hooks, pack, unpack_hook)  # the engine calls it, with the mode

    return init_with_the_mode


def _start(start: Callable[[threading.Thread], None]) -> Callable[[threading.Thread], None]:
    @functools.wraps(start)
    def start_with_the_mode(thread: threading.Thread) -> None:
        run = thread.run

        def run_with_the_mode() -> None:
            vars(thread).pop("run", None)
            with switched_on():
                run()

        vars(thread)["run"] = run_with_the_mode
        start(thread)

    return start_with_the_mode


# Operators of the program ---------------------------------------------------------------------------------------------
_CPU, _CUDA = "CPU", "CUDA"
_OF_DEVICES = (_CPU, _CUDA)
_OF_ALL = ("", "CompositeExplicitAutograd", "CompositeImplicitAutograd", "Autograd", "AutogradCPU", "AutogradCUDA")


def _impl(impl: Callable[..., None]) -> Callable[..., None]:
    by_device: dict[str, dict[str, Callable[..., Any]]] = {}

    @functools.wraps(impl)
    def impl_for_placed(
        library: torch.library.Library,
        op_name: object,
        fn: Callable[..., Any],
        dispatch_key: str = "",
        **options: object,
    ) -> None:
        key = dispatch_key or library.dispatch_key
        if not _is_of_the_program(fn) or key not in (*_OF_DEVICES, *_OF_ALL):
            return impl(library, op_name, fn, dispatch_key, **options)
        if key == _CUDA and library.ns == "aten":
            raise CudaCallError(
                f"`{op_name}` of torch is given another implementation for CUDA",
                found=f"`Library('aten', ...).impl({str(op_name)!r}, ..., 'CUDA')`",
                expected="an operator of the program: torch's own compute for both devices",
                instead="an operator of its own by `torch.library.custom_op`, or a GPU",
            )
        if key not in _OF_DEVICES or library.ns == "aten":
            return impl(library, op_name, _with_the_mode(fn), key.replace(_CUDA, _CPU), **options)
        known = by_device.setdefault(f"{library.ns}::{op_name}", {})
        known[key] = fn
        if len(known) == 1 or options:
            chosen = _by_placement(f"{library.ns}::{op_name}", known, has_keyset=bool(options.get("with_keyset")))
            impl(library, op_name, _with_the_mode(chosen), _CPU, **options)
        return None

    return impl_for_placed


def _is_of_the_program(fn: object) -> bool:
    """Not a mark of torch's, as the one for "nothing here, go on"."""
    return callable(fn) and fn is not torch.library.fallthrough_kernel


def _by_placement(name: str, known: dict[str, Callable[..., Any]], *, has_keyset: bool) -> Callable[..., Any]:
    def run(*args: object, **kwargs: object) -> Any:
        given = list(tensors_in((args[1:] if has_keyset else args, kwargs)))
        key = _CUDA if any(map(is_placed, given)) else _CPU
        if (
            key not in known and key == _CPU and any(map(stays_on_cpu, given))
        ):  # as torch says it on a machine with a GPU
            # As torch says it on a machine with a GPU.
            raise NotImplementedError(f"Could not run '{name}' with arguments from the 'CPU' backend: it is for CUDA")
        return known.get(key, next(iter(known.values())))(*args, **kwargs)

    return run


def _with_the_mode(fn: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(fn)
    def run(*args: object, **kwargs: object) -> Any:
        with switched_on():
            return fn(*args, **kwargs)

    return run
