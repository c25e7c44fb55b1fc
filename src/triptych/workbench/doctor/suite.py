"""Kernels that `triptych doctor` runs: the examples, each with arguments of its own making.

A row gives a host function and its arguments; arrays among them are copied to the memory of the target, and read back
when the function has run. All of them are compared, those that a kernel only reads included.
"""

from __future__ import annotations

import site
import sys
import sysconfig
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import triptych
from triptych.support.forking import import_late
from triptych.targets.nvptx.description.architectures import ARCHITECTURES
from triptych.workbench.errors import FolderError

Call = tuple[Any, tuple[Any, ...]]
"""A host function and its arguments."""


@dataclass(frozen=True, slots=True)
class Wrapped:
    """An array, and what an example makes a tensor of it with."""

    make: Callable[[Any], Any]
    array: Any


@dataclass(frozen=True, slots=True)
class Entry:
    """One kernel of the suite."""

    module: str
    """Of the examples."""
    call: Callable[[Any], Call]
    tolerance: float = 0.0
    """The most that targets may differ, as a share of the largest number: they add in other orders."""
    needs: str = ""
    """The one architecture that has its instructions; it runs on the CPU besides."""
    since: int = 80
    """The first generation that has its instructions."""

    def runs_on(self, architecture: str) -> bool:
        if self.needs:
            return architecture == self.needs
        known = ARCHITECTURES.get(architecture)
        return known is not None and known.generation >= self.since


def examples_folder() -> Path:
    """Where an installation has them, or beside the sources of a checkout."""
    installed = (Path(root, "share", "triptych") for root in (sysconfig.get_path("data"), site.getuserbase()))
    checkout = Path(str(triptych.__file__)).resolve().parents[2]
    for folder in (checkout, *installed):
        if (folder / "examples" / "kernels").is_dir():
            return folder / "examples"
    raise FolderError(
        "the examples are not there, whose kernels would run",
        found=f"no folder examples in {checkout}, nor share/triptych in {sysconfig.get_path('data')}",
        expected="an installation by pip, or a checkout",
        instead="pip install --force-reinstall triptych",
    )


def example(name: str) -> Any:
    """A module of the examples, which import one another by bare names."""
    folder = str(examples_folder() / "kernels")
    if folder not in sys.path:
        sys.path.append(folder)
    return import_late(name)


def _like(*shape: int, dtype: Any = np.float32) -> Any:
    return np.zeros(shape, dtype)


def _vector_add(way: str) -> Callable[[Any], Call]:
    shape = (33, 256) if way == "by threads and values" else (4100,)

    def call(m: Any) -> Call:
        a, b, _ = m.get_inputs(shape=shape, way=way)
        return m.WAYS[way], (a, b, np.zeros_like(a))

    return call


def _applied(name: str) -> Callable[[Any], Call]:
    def call(m: Any) -> Call:
        _, *tensors = m.get_inputs(name, n=4096)
        return m.apply, (m.FUNCTIONS[name][0], tuple(tensors), _like(4096))

    return call


def _axpy(m: Any) -> Call:
    x, y, name = m.get_inputs()
    return m.axpy, (0.5, x, y, np.zeros_like(x), m.NAMES[name])


def _by_rows(function: str, *after: Any) -> Callable[[Any], Call]:
    """A function of a matrix and perhaps vectors, whose result has the shape of the matrix."""

    def call(m: Any) -> Call:
        x, *others = m.get_inputs()
        return getattr(m, function), (x, *others, np.zeros_like(x), *after)

    return call


def _sum(m: Any) -> Call:
    [x] = m.get_inputs()
    return m.sum_kernel_twice, (x, _like(-(-x.size // m.PER_BLOCK)), _like(1))


def _reduced(m: Any) -> Call:
    x, _ = m.get_inputs()
    return m.reduce_blocks, (x, _like(-(-x.size // m.PER_BLOCK)), m.add, 0.0)


def _counted(kernel: str) -> Callable[[Any], Call]:
    return lambda m: (m.histogram, (m.get_inputs(n=20_001)[0], _like(m.BINS, dtype=np.int32), getattr(m, kernel)))


def _transposed(layout: str) -> Callable[[Any], Call]:
    return lambda m: (m.transpose, (m.get_inputs(96, 64)[0], _like(64, 96), getattr(m, layout)))


def _product(function: str) -> Callable[[Any], Call]:
    def call(m: Any) -> Call:
        a, b = m.get_inputs()[:2]
        return getattr(m, function), (a, b, _like(len(a), b.shape[1]))

    return call


def _tensor_cores(name: str, *, keeps_type: bool = False) -> Callable[[Any], Call]:
    def call(m: Any) -> Call:
        x, w = m.get_inputs(name=name)[:2]
        y = _like(len(x), len(w), dtype=x.dtype if keeps_type else np.float32)
        return m.gemm, (Wrapped(m.operand_of, x), Wrapped(m.operand_of, w), y)

    return call


def _attention(*, causal: bool) -> Callable[[Any], Call]:
    def call(m: Any) -> Call:
        q, k, v, _ = m.get_inputs(batch=1)
        return m.attention, (*(Wrapped(m.tensor_of, each) for each in (q, k, v, np.zeros_like(q))), causal)

    return call


SUITE: Mapping[str, Entry] = {
    "vector add, by elements": Entry("vector_add", _vector_add("by elements")),
    "vector add, by vectors": Entry("vector_add", _vector_add("by vectors")),
    "vector add, by layout": Entry("vector_add", _vector_add("by threads and values")),
    "relu": Entry("relu", _by_rows("relu")),
    "gate": Entry("elementwise_apply", _applied("gate"), 1e-5),
    "axpy with epilogue": Entry("epilogues", _axpy, 1e-6),
    "softmax": Entry("softmax", _by_rows("softmax"), 1e-5),
    "layer norm": Entry("layer_norm", _by_rows("layer_norm", 1e-6), 1e-5),
    "rms norm": Entry("rms_norm", _by_rows("rms_norm", 1e-6), 1e-5),
    "block reduction": Entry("block_reduction", _sum, 1e-5),
    "warp reduction": Entry("warp_reduction", _reduced, 1e-5),
    "histogram, global atomics": Entry("histogram", _counted("count_globally")),
    "histogram, shared atomics": Entry("histogram", _counted("count_in_blocks")),
    "transpose, padded": Entry("transpose", _transposed("PADDED")),
    "transpose, swizzled": Entry("transpose", _transposed("SWIZZLED")),
    "gemm, tiled": Entry("gemm", _product("tiled"), 1e-5),
    "gemm, register-tiled": Entry("gemm", _product("register_tiled"), 1e-5),
    "sgemm, asynchronous copies": Entry("sgemm", _product("sgemm"), 1e-5),
    "tensor-core gemm, f16": Entry("tensor_core_gemm", _tensor_cores("f16"), 1e-4),
    "tensor-core gemm, bf16": Entry("tensor_core_gemm", _tensor_cores("bf16"), 1e-4),
    "tensor-core gemm, fp8": Entry("tensor_core_gemm", _tensor_cores("fp8"), 1e-3, since=89),
    "flash attention": Entry("flash_attention", _attention(causal=False), 4e-3),
    "flash attention, causal": Entry("flash_attention", _attention(causal=True), 4e-3),
    "TMA and WGMMA gemm": Entry("hopper_gemm", _tensor_cores("f16", keeps_type=True), 4e-3, needs="sm_90a"),
}
"""By the name that a report has for it."""
