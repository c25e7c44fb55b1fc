"""What `@jit` and `@kernel` take, how kernels are launched, and which names functions may have."""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import triptych as tt
from triptych import cute
from triptych.cute.nvgpu import warp
from triptych.cute.runtime import from_dlpack
from triptych.metastage.kernels.launches import symbol
from triptych.metastage.trace.errors import ArgumentKindError, DecorationError, KernelCallError
from triptych.support.errors import TriptychWarning


def doubled(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def inner(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs) * 2

    return inner


@tt.jit
@doubled
def successor(x: tt.Int32) -> Any:
    return x + 1


def test_a_wrapper_is_called_as_it_is_written_and_not_as_it_says() -> None:
    assert successor(3) == 8
    assert successor(x=4) == 10


@tt.jit
def collected(a: tt.Int32, *rest: Any, **named: Any) -> Any:
    return a + sum(rest) + named.get("z", 0) + 100 * len(named)


def test_keywords_are_collected() -> None:
    assert [collected(1), collected(1, 2, 3), collected(1, z=5), collected(1, 2, z=5, y=1)] == [1, 6, 106, 208]


def test_a_dict_is_no_argument_otherwise() -> None:
    with pytest.raises(ArgumentKindError):
        collected({"a": 1})


@pytest.mark.parametrize("given", [successor, tt.kernel(lambda: None), 3, dict], ids=["jit", "kernel", "int", "class"])
@pytest.mark.parametrize("decorator", [tt.jit, tt.kernel, tt.compile])
def test_what_is_no_function_is_refused(decorator: Any, given: Any) -> None:
    if decorator is tt.compile and isinstance(given, tt.JitFunction):
        return  # which it compiles
    with pytest.raises(DecorationError) as caught:
        decorator(given)
    assert caught.value.instead
    assert caught.value.span is not None


@tt.kernel
def fill(x: cute.Tensor) -> None:
    x[0] = 1.0


@pytest.mark.parametrize("launch", [lambda k, x: k[1, 32](x), lambda k, x: k.launch(grid=1, block=32)])
def test_other_ways_to_launch_say_which_is_the_one(launch: Callable[[Any, Any], Any]) -> None:
    with pytest.raises(KernelCallError) as caught:
        launch(fill, np.zeros(4, np.float32))
    assert caught.value.instead == "`fill(...).launch(grid=..., block=...)`"


NAMES = ["α", "β", "변수", "ß", "_", "__", "main", "malloc", "free", "printf", "erf", "sinf", "memcpy"]
PROGRAM = """
import triptych as tt
from triptych import cute

@tt.kernel
def {name}(x: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    x[thread] = cute.math.erf(x[thread]) + 1.0

@tt.jit
def run(x: cute.Tensor):
    {name}(x).launch(grid=1, block=4)
"""


@pytest.mark.parametrize("name", NAMES)
def test_a_kernel_may_have_any_name(name: str, tmp_path: Path) -> None:
    file = tmp_path / "named.py"
    file.write_text(PROGRAM.format(name=name), encoding="utf-8")
    spec = importlib.util.spec_from_file_location("named", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    x = np.zeros(4, np.float32)
    module.run(x)
    assert x.tolist() == [1.0] * 4


def test_symbols_are_identifiers_of_ptx_and_stay_apart() -> None:
    symbols = [symbol(name) for name in (*NAMES, "1a", "a", "<lambda>")]
    assert len(set(symbols)) == len(symbols)
    assert all(text.isascii() and text.isidentifier() and len(text.strip("_") or text) >= 1 for text in symbols)
    assert "_" not in symbols  # PTX wants more than the underscore


def test_parts_for_more_threads_than_there_are_are_warned_of() -> None:
    mma = cute.make_tiled_mma(warp.MmaF16BF16Op(tt.Float16, tt.Float32, (16, 8, 16)), (2, 2, 1))

    @tt.kernel
    def ones(c: cute.Tensor) -> None:
        thread, _, _ = cute.arch.thread_idx()
        part = mma.get_slice(thread).partition_C(c)
        values = mma.make_fragment_C(part)
        values.fill(1.0)
        cute.autovec_copy(values, part)

    @tt.jit
    def run(c: cute.Tensor, threads: tt.Constexpr[int]) -> None:
        ones(c).launch(grid=1, block=threads)

    c = np.zeros((32, 16), np.float32)
    with pytest.warns(TriptychWarning, match="parts for 128 threads, and the block has 64"):
        run(from_dlpack(c), 64)
    run(from_dlpack(c), 128)
    assert c.sum() == 512


class Scaling:
    factor = 3

    @tt.jit
    def __call__(self, x: tt.Int32) -> Any:
        return x * self.factor


class Doubling(Scaling):
    factor = 2


def test_an_object_whose_class_inherits_a_jitted_call_compiles() -> None:
    assert [tt.compile(scale, 1)(5) for scale in (Scaling(), Doubling())] == [15, 10]
