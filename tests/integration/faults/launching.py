"""Launches that cannot be, and arguments that are not what the function was compiled for."""

from __future__ import annotations

from typing import Any

import numpy as np

import triptych as tt
from tests.integration.faults.fault import Fault
from tests.unit.cute.array_memory import aligned
from triptych import cute
from triptych.cute.runtime import from_dlpack
from triptych.diagnostics.kernel_errors import LaunchShapeError
from triptych.diagnostics.runtime_errors import ArgumentCountError, ArgumentTypeError
from triptych.diagnostics.tensor_errors import (
    ArgumentTensorError,
    ArgumentTensorTypeError,
    ReadOnlyTensorError,
    UnsupportedTensorError,
)
from triptych.metastage.trace.errors import KernelCallError


@tt.kernel
def nothing() -> None:
    pass


@tt.kernel
def greedy(size: tt.Constexpr[Any]) -> None:
    cute.SmemAllocator().allocate_tensor(tt.Float32, cute.make_layout(size))


@tt.kernel
def fill(a: cute.Tensor) -> None:
    row, _, _ = cute.arch.thread_idx()
    a[row, 0] = 1.0


@tt.jit
def launch(block: Any, grid: Any = 1, smem: Any = None) -> None:
    nothing().launch(grid=grid, block=block, smem=smem)


@tt.jit
def launch_of_static_size(options: tt.Constexpr[Any]) -> None:
    nothing().launch(**options)  # known now


@tt.jit
def launch_greedy(size: tt.Constexpr[Any]) -> None:
    greedy(size).launch(grid=1, block=32)


@tt.jit
def never_launches(a: Any) -> None:
    fill(a)


@tt.jit
def fill_all(a: Any) -> None:
    fill(a).launch(grid=1, block=4)


def matrix(dtype: Any = np.float32) -> np.ndarray[Any, Any]:
    return aligned(32, dtype).reshape(4, 8)


def too_many_threads() -> None:
    launch_of_static_size({"grid": 1, "block": 2000})


def too_many_threads_at_run_time() -> None:
    launch(2000)


def too_many_threads_in_all() -> None:
    launch((64, 32))


def no_threads_at_run_time() -> None:
    launch(0)


def negative_grid() -> None:
    launch(32, -1)


def too_much_allocated() -> None:
    launch_greedy(60_000)


def too_much_shared_memory() -> None:
    launch_of_static_size({"grid": 1, "block": 32, "smem": 300_000})


def too_much_shared_memory_at_run_time() -> None:
    launch(32, 1, 300_000)


def kernel_never_launched() -> None:
    never_launches(matrix())


def kernel_called_from_python() -> None:
    fill(matrix())


def another_type() -> None:
    tt.compile(fill_all, matrix())(matrix(np.float64))


def another_rank() -> None:
    tt.compile(fill_all, matrix())(np.zeros(32, np.float32))


def another_shape() -> None:
    tt.compile(fill_all, from_dlpack(matrix()))(np.zeros((4, 9), np.float32))


def another_stride() -> None:
    tt.compile(fill_all, from_dlpack(matrix()))(np.zeros((8, 4), np.float32).T)


def another_leading_mode() -> None:
    tt.compile(fill_all, from_dlpack(matrix()).mark_layout_dynamic())(np.zeros((8, 4), np.float32).T)


def another_alignment() -> None:
    odd = aligned(36, np.float32)[1:33].reshape(4, 8)
    tt.compile(fill_all, from_dlpack(matrix(), assumed_align=16))(odd)


def negative_stride() -> None:
    fill_all(matrix()[::-1])


def another_count() -> None:
    tt.compile(fill_all, matrix())(matrix(), matrix())


def number_for_a_tensor() -> None:
    tt.compile(fill_all, matrix())(3)


def complex_numbers() -> None:
    fill_all(np.zeros((4, 8), np.complex64))


def read_only_memory() -> None:
    fill_all(np.broadcast_to(np.float32(0), (4, 8)))


FAULTS = [
    Fault(too_many_threads, LaunchShapeError, "# known now"),
    Fault(too_many_threads_at_run_time, LaunchShapeError, "nothing().launch(grid=grid"),
    Fault(too_many_threads_in_all, LaunchShapeError, "nothing().launch(grid=grid"),
    Fault(no_threads_at_run_time, LaunchShapeError, "nothing().launch(grid=grid"),
    Fault(negative_grid, LaunchShapeError, "nothing().launch(grid=grid"),
    Fault(too_much_allocated, LaunchShapeError, "greedy(size).launch"),
    Fault(too_much_shared_memory, LaunchShapeError, "# known now"),
    Fault(too_much_shared_memory_at_run_time, LaunchShapeError, "nothing().launch(grid=grid"),
    Fault(kernel_never_launched, KernelCallError, "    fill(a)"),
    Fault(kernel_called_from_python, KernelCallError, "fill(matrix())"),
    Fault(another_type, ArgumentTensorTypeError, "(matrix(np.float64))"),
    Fault(another_rank, ArgumentTensorTypeError, "np.zeros(32"),
    Fault(another_shape, ArgumentTensorError, "np.zeros((4, 9)"),
    Fault(another_stride, ArgumentTensorError, "np.zeros((8, 4)"),
    Fault(another_leading_mode, ArgumentTensorError, "mark_layout_dynamic())(np.zeros"),
    Fault(another_alignment, ArgumentTensorError, "assumed_align=16))(odd)"),
    Fault(negative_stride, ArgumentTensorError, "matrix()[::-1]"),
    Fault(another_count, ArgumentCountError, "(matrix(), matrix())"),
    Fault(number_for_a_tensor, ArgumentTypeError, "(3)"),
    Fault(complex_numbers, UnsupportedTensorError, "np.complex64"),
    Fault(read_only_memory, ReadOnlyTensorError, "np.broadcast_to"),
]
