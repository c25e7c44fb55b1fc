"""Functions with checks, for tests: pytest rewrites `assert` in its own files."""

from __future__ import annotations

import triptych as tt
from triptych import cute


@tt.jit
def checked(x: cute.Tensor, y: cute.Tensor) -> None:
    for i in range(x.shape[0]):
        assert x[i] >= 0.0, "x is never negative"
        y[i] = x[i]
