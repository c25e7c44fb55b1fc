"""Installation of the CPU in the place of CUDA, and torch restored as it was."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from triptych.compat.torch_cpu import streams
from triptych.compat.torch_cpu.cuda_module import replacements
from triptych.compat.torch_cpu.function_mode import CudaOnCpu


def install() -> Callable[[], None]:
    """Change torch for this thread's calls and this process's `torch.cuda`; the result undoes all of it."""
    everything = ExitStack()
    for namespace, name, value in replacements():
        _replace(everything, namespace, name, value)
    everything.callback(streams.forget)
    everything.enter_context(CudaOnCpu())
    return everything.close


# Any: modules and classes of torch.
def _replace(everything: ExitStack, namespace: Any, name: str, value: Any) -> None:
    if name in vars(namespace):
        everything.callback(setattr, namespace, name, vars(namespace)[name])
    else:
        everything.callback(delattr, namespace, name)
    setattr(namespace, name, value)
