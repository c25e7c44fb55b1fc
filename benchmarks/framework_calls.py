"""Calls of kernels from frameworks: what a call costs by each way, beside PyTorch's own operators.

    python -m benchmarks.framework_calls [--rounds 40] [--json]

An addition of one block on 1 x 32 numbers. Processor time of the thread, microseconds, the smallest of the rounds, all
ways in turns. Rows of JAX are left out where it is not installed; they are wall time, since XLA has threads of its own.
A further call in a program is what a chain of 601 takes more than one call, divided by 600; the kernel is in it.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import triptych as tt
import triptych.torch
from triptych import cute

CALLS = 300
CHAIN = 600
"""Calls of a program that one call is compared with, for the price of a further one."""
FURTHER = "jax: a further call in the program, "
LIBRARY: Any = torch.library.Library("framework_calls_by_hand", "DEF")
"""Operators end with their library."""


@tt.kernel
def add_kernel(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor) -> None:
    thread, _, _ = cute.arch.thread_idx()
    c[0, thread] = a[0, thread] + b[0, thread]


@tt.jit
def add(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor) -> None:
    add_kernel(a, b, c).launch(grid=1, block=32)


@tt.jit
def add_backward(b: cute.Tensor, grad_c: cute.Tensor, grad_a: cute.Tensor, grad_b: cute.Tensor) -> None:
    add_kernel(grad_c, grad_c, grad_a).launch(grid=1, block=32)
    add_kernel(grad_c, grad_c, grad_b).launch(grid=1, block=32)


class Added(torch.autograd.Function):  # type: ignore[misc,unused-ignore]
    """What users write by hand around the same call."""

    @staticmethod
    def forward(ctx: Any, a: Any, b: Any) -> Any:
        c = torch.empty_like(a)
        add(a, b, c)
        return c

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return gradient, gradient


def ways() -> dict[str, Callable[[], Any]]:
    """Every way, ready to be called."""
    a, b, c = torch.randn(1, 32), torch.randn(1, 32), torch.empty(1, 32)
    followed = torch.randn(1, 32, requires_grad=True)
    compiled = tt.compile(add, a, b, c)
    op = triptych.torch.op(add, "framework_calls::add", out={"c": "a"})
    differentiable = triptych.torch.op(add, "framework_calls::add_d", out={"c": "a"}, backward=add_backward)
    op_out = triptych.torch.op(add, "framework_calls::add_out", mutates=("c",))
    library = LIBRARY
    library.define("add_out(Tensor a, Tensor b, Tensor(c!) c) -> ()")
    library.impl("add_out", lambda a, b, c: add(a, b, c), "CPU")
    by_hand = torch.ops.framework_calls_by_hand.add_out.default

    @torch.library.custom_op("framework_calls::custom", mutates_args={"c"})  # type: ignore[untyped-decorator,unused-ignore]
    def custom(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> None:
        add(a, b, c)

    found: dict[str, Callable[[], Any]] = {
        "torch.add(out=)": lambda: torch.add(a, b, out=c),
        "torch.add": lambda: torch.add(a, b),
        "compiled function": lambda: compiled(a, b, c),
        "@jit function": lambda: add(a, b, c),
        "triptych.torch.op -> ()": lambda: op_out.default(a, b, c),
        "triptych.torch.op -> Tensor": lambda: op.default(a, b),
        "triptych.torch.op with a backward, no gradient": lambda: differentiable.default(a, b),
        "triptych.torch.op with a backward, gradient": lambda: differentiable.default(followed, b),
        "autograd.Function, gradient": lambda: Added.apply(followed, b),
        "Library.impl by hand -> ()": lambda: by_hand(a, b, c),
        "custom_op -> ()": lambda: custom(a, b, c),
    }
    if importlib.util.find_spec("jax"):
        found |= _of_jax()
    return found


def _of_jax() -> dict[str, Callable[[], Any]]:
    jax: Any = importlib.import_module("jax")
    a = jax.numpy.ones((1, 32))
    result = jax.ShapeDtypeStruct((1, 32), np.float32)
    c = np.zeros((1, 32), np.float32)

    def called(a: Any) -> Any:
        found = np.empty((1, 32), np.float32)
        add(np.asarray(a), np.asarray(a), found)
        return found

    compiled = tt.compile(add, np.asarray(a), np.asarray(a), c)
    back = jax.jit(lambda a: jax.pure_callback(called, result, a))
    ours = importlib.import_module("triptych.jax").call(add, output_shape_dtype=lambda a, _: a)
    once = jax.jit(ours)
    found = {
        "jax: arrays as arguments of a compiled function": lambda: compiled(a, a, c),
        "jax: arrays as arguments of a @jit function": lambda: add(a, a, c),
        "jax: pure_callback": lambda: back(a).block_until_ready(),
        "jax: triptych.jax.call outside of jit": lambda: ours(a, a).block_until_ready(),
        "jax: triptych.jax.call, jitted": lambda: once(a, a).block_until_ready(),
        f"{FURTHER}triptych.jax.call": _chain(jax, ours, a),
    }
    if importlib.util.find_spec("jax_tvm_ffi"):
        name, bridge = "framework_calls.add", importlib.import_module("jax_tvm_ffi")
        bridge.register_ffi_target(name, compiled.__tvm_ffi_object__(), ["args", "rets"], platform="cpu")
        found[f"{FURTHER}jax-tvm-ffi"] = _chain(jax, jax.ffi.ffi_call(name, result), a)
    return found


def _chain(jax: Any, call: Callable[..., Any], a: Any) -> Callable[[], Any]:
    """A program of many calls, each of the one before."""

    def calls(a: Any) -> Any:
        for _ in range(CHAIN + 1):
            a = call(a, a)
        return a

    jitted = jax.jit(calls)
    return lambda: jitted(a).block_until_ready()


def microseconds(way: Callable[[], Any], clock: Callable[[], int]) -> float:
    began = clock()
    for _ in range(CALLS):
        way()
    return (clock() - began) / CALLS / 1000


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    torch.set_num_threads(1)
    every = ways()
    best = dict.fromkeys(every, float("inf"))
    for _ in range(given.rounds):
        for name, way in every.items():
            clock = time.perf_counter_ns if name.startswith("jax") else time.thread_time_ns
            best[name] = min(best[name], microseconds(way, clock))
    for name in best:
        if name.startswith(FURTHER):
            best[name] = (best[name] - best["jax: triptych.jax.call, jitted"]) / CHAIN
    if given.json:
        print(json.dumps(best, indent=1))
        return
    for name, figure in best.items():
        print(f"{name:50} {figure:8.2f} us")


if __name__ == "__main__":
    main()
