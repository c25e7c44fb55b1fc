"""What a person sees of a public object at the prompt: `dir`, `help` and `repr`."""

from __future__ import annotations

import importlib
import inspect
import pydoc
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import triptych as tt
from triptych import cute
from triptych.cute.nvgpu import CopyUniversalOp, MmaUniversalOp, warp
from triptych.layout import sym_int

MODULES = [
    *("triptych", "triptych.cuda", "triptych.cutlass_dsl", "triptych.layout", "triptych.pipeline", "triptych.testing"),
    *("triptych.utils", "triptych.cute", "triptych.cute.arch", "triptych.cute.math", "triptych.cute.nvgpu"),
    "triptych.cute.amdgpu",
    *("triptych.cute.nvgpu.cpasync", "triptych.cute.nvgpu.tcgen05", "triptych.cute.nvgpu.warp"),
    *("triptych.cute.nvgpu.warpgroup", "triptych.utils.blackwell_helpers"),
    *("triptych.cute.runtime", "triptych.cute.testing", "triptych.utils.hopper_helpers"),
    *("triptych.cute.typing", "triptych.cute.utils", "triptych.utils.blockscaled_layout"),
]
NEEDS_LIBRARIES = {"create_cute_tensor_for_fp8", "jax", "torch"}


def public() -> Iterator[tuple[str, Any]]:
    for module in map(importlib.import_module, MODULES):
        for name in dir(module):
            if name not in NEEDS_LIBRARIES:
                yield f"{module.__name__}.{name}", getattr(module, name)


def documented() -> Iterator[tuple[str, Any]]:
    """Functions and classes, and what classes of this package have that is public."""
    for name, value in public():
        if inspect.isfunction(value) or inspect.isclass(value):
            yield name, value
        if inspect.isclass(value) and value.__module__.startswith("triptych"):
            for member, found in vars(value).items():
                is_function = isinstance(found, property | classmethod | staticmethod) or inspect.isfunction(found)
                if not member.startswith("_") and is_function:
                    yield f"{name}.{member}", found


@pytest.mark.parametrize("name", MODULES)
def test_dir_is_what_is_public(name: str) -> None:
    module = importlib.import_module(name)
    assert set(module.__all__) <= set(dir(module))
    internal = [n for n in dir(module) if n.startswith("_") and n != "__version__"]
    modules = [n for n in dir(module) if n not in NEEDS_LIBRARIES and inspect.ismodule(getattr(module, n))]
    assert not internal
    assert [n for n in modules if f"{name}.{n}" not in MODULES and n not in ("jax", "torch", "common")] == []


def test_every_public_function_class_and_method_says_what_it_is() -> None:
    assert [name for name, value in documented() if not (vars_doc(value) or "").strip()] == []


def vars_doc(value: Any) -> str | None:
    """The docstring of an object itself: a class without one would show that of its parent."""
    return vars(value).get("__doc__") if inspect.isclass(value) else value.__doc__


def test_public_repr_never_raises_and_is_not_pythons_own() -> None:
    for name, value in public():
        shown = repr(value)
        assert " object at 0x" not in shown or name == "triptych.cutlass_dsl.T", name


NO_OBJECTS = {tt.Constexpr, tt.Float, tt.Integer, tt.layout.DynamicInt, Any, cute.CopyOperation, cute.MmaOperation}
NO_OBJECTS |= {cute.typing.JitArgument, cute.nvgpu.cpasync.TmaCopyOp}
"""For annotations, `isinstance` and subclasses only."""


def test_classes_say_what_their_objects_are() -> None:
    classes = [(name, value) for name, value in public() if inspect.isclass(value) and value not in NO_OBJECTS]
    assert len(classes) > 100
    assert [name for name, value in classes if value.__repr__ is object.__repr__] == []


def test_help_names_types_as_programs_do() -> None:
    @tt.jit
    def scaled(x: cute.Tensor, n: tt.Int32, factor: tt.Constexpr[int] = 2) -> None:
        """x times n."""

    text = pydoc.plain(pydoc.render_doc(scaled))
    assert str(inspect.signature(scaled.__wrapped__)) == str(inspect.signature(scaled))
    assert "x times n." in text
    jit = pydoc.plain(pydoc.render_doc(tt.jit))
    assert "compile a host function when it is called" in jit
    assert "DSL('triptych')" in jit
    number = pydoc.plain(pydoc.render_doc(tt.Int32))
    assert "signed integer of 32 bits" in number
    assert "triptych.Int32" in repr(tt.Int32)


@tt.kernel
def copied(x: cute.Tensor, y: cute.Tensor) -> None:
    i, _, _ = cute.arch.thread_idx()
    y[0, i] = x[0, i]


@tt.jit
def host(x: cute.Tensor, y: cute.Tensor, n: tt.Int32, pair: Any, c: tt.Constexpr[int] = 3) -> Any:
    """Launches."""
    copied(x, y).launch(grid=1, block=32)
    return n + c, pair[1]


def an_array() -> Any:
    return np.ones((4, 32), np.float32)


MMA = warp.MmaF16BF16Op(tt.Float16, tt.Float32, (16, 8, 16))
COPY = cute.make_copy_atom(CopyUniversalOp(), tt.Float32, num_bits_per_copy=128)
LAYOUT = cute.make_layout((4, 8))

SHOWN: list[tuple[Callable[[], Any], str]] = [
    (lambda: host, "<JitFunction tests.contracts.test_introspection.host>"),
    (lambda: copied, "<KernelFunction tests.contracts.test_introspection.copied>"),
    (lambda: tt.compile, "compile"),
    (lambda: tt.compile[cute.OptLevel(1), cute.KeepPTX], "compile[OptLevel(1), KeepPTX(True)]"),
    (
        lambda: tt.compile(host, an_array(), an_array(), 1, (2, 3.0), opt_level=1),
        "<CompiledFunction host(x: tensor<Float32 o (?,?):(?,1)>, y: tensor<Float32 o (?,?):(?,1)>, n: Int32, "
        "pair[0]: Int32, pair[1]: Float32) -> (Int32, Float32), cpu, opt_level 1>",
    ),
    (lambda: tt.Int32(3), "Int32(3)"),
    (lambda: tt.Float32(0.5), "Float32(0.5)"),
    (lambda: tt.Boolean(True), "Boolean(True)"),
    (lambda: LAYOUT, "Layout((4,8):(1,4))"),
    (
        lambda: cute.make_composed_layout(cute.make_swizzle(2, 0, 3), 0, LAYOUT),
        "ComposedLayout(S<2,0,3> o 0 o (4,8):(1,4))",
    ),
    (lambda: sym_int(64, symbol="n"), "SymInt(n)"),
    (lambda: MMA, "MmaF16BF16Op<m16n8k16.f32.f16.f16.f32>"),
    (lambda: cute.make_mma_atom(MmaUniversalOp(tt.Float32)), "MmaUniversalOp<Float32>"),
    (
        lambda: cute.make_tiled_mma(MMA),
        "tiled product of MmaF16BF16Op<m16n8k16.f32.f16.f16.f32> by (1,1,1):(0,0,0) on (16,8,16)",
    ),
    (lambda: COPY, "CopyUniversalOp<Float32, 128 bits>"),
    (
        lambda: cute.make_tiled_copy_tv(COPY, LAYOUT, cute.make_layout((1, 4))),
        "tiled copy of CopyUniversalOp<Float32, 128 bits> by ((4,8),4):((1,16),4) on (4,32)",
    ),
    (lambda: cute.runtime.make_fake_compact_tensor(tt.Float32, (4, 8)), "FakeTensor<Float32@gmem o (4,8):(1,4)>"),
    (lambda: cute.testing.JitArguments(1, n=2), "JitArguments(1, n=2)"),
    (lambda: cute.runtime.nullptr(tt.Float32), "ptr<Float32, generic, align<4>> at 0x0000000000000000"),
    (lambda: cute.runtime.make_fake_stream(), "FakeStream()"),
    (lambda: tt.range(3, unroll=2), "range(0, 3, 1, unroll=2)"),
    (lambda: cute.testing.autotune_jit({"c": [1, 2]})(host), "<AutotunedFunction host, c of [1, 2]>"),
    (lambda: tt.cuda.default_stream(), "CUstream(handle=0)"),
]


@pytest.mark.parametrize(("make", "shown"), SHOWN, ids=range(len(SHOWN)))
def test_repr_of_objects_says_what_they_are(make: Callable[[], Any], shown: str) -> None:
    assert repr(make()) == shown


def test_repr_while_tracing() -> None:
    seen: list[str] = []

    @tt.jit
    def traced(x: cute.Tensor, n: tt.Int32) -> None:
        seen.extend(map(repr, (x, x.shape, n, x.iterator, x.layout, cute.make_rmem_tensor((4,), tt.Float32).load())))

    traced(an_array(), 1)
    assert seen == [
        "tensor<ptr<Float32, gmem, align<4>> o (?,?):(?{i64},1)>",
        "(?, ?)",
        "?",
        "ptr<Float32, gmem, align<4>>",
        "Layout((?,?):(?{i64},1))",
        "tensor_value<vector<4xf32> o (4,)>",
    ]
