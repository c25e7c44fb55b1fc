"""The ports with the tensors that the peer's public programs compile them for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.sass_programs import elementwise, normalisation

import triptych as tt
from triptych import cute
from triptych.cute.runtime import FakeTensor, make_fake_tensor

ROWS = 4096


def unknown_matrix(divisibility: int = 1, align: int | None = None) -> FakeTensor:
    """Rows of numbers next to each other, of extents that the call tells."""
    extents = (cute.sym_int(), cute.sym_int(divisibility=divisibility))
    return make_fake_tensor(tt.Float32, extents, (cute.sym_int64(divisibility=divisibility), 1), assumed_align=align)


def _vectors(count: int) -> list[FakeTensor]:
    return [unknown_matrix(4, 16) for _ in range(count)]


def _halves(*shape: int) -> FakeTensor:
    stride = (shape[1], 1) if len(shape) == 2 else (1,)
    return make_fake_tensor(tt.Float16, shape, stride, assumed_align=16)


def _rms_norm() -> tuple[Any, tuple[Any, ...]]:
    columns = normalisation.COLUMNS
    return normalisation.rms_norm, (_halves(ROWS, columns), _halves(ROWS, columns), _halves(columns), 1e-6)


PORTS: dict[str, Callable[[], tuple[Any, tuple[Any, ...]]]] = {
    "port: vector add": lambda: (elementwise.vector_add, tuple(_vectors(3))),
    "port: relu": lambda: (elementwise.relu, (unknown_matrix(), unknown_matrix())),
    "port: add by layout": lambda: (elementwise.add_by_layout, tuple(unknown_matrix() for _ in range(3))),
    "port: rms norm": _rms_norm,
}
