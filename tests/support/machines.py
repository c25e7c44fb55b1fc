"""Where a test of kernels runs: on the CPU, and as PTX on the PTX simulator."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from functools import partial
from typing import Any

import pytest

from tests.support.ptx.unified import numpy_gpu
from tests.unit.targets.nvptx.tools import needs_assembler

MACHINES = [
    pytest.param(nullcontext, id="cpu"),
    *(
        pytest.param(partial(numpy_gpu, name, whole_memory=True), id=name, marks=needs_assembler)
        for name in ("sm_90", "sm_120a")  # which multiply fp8 in different ways
    ),
]


@pytest.fixture(params=MACHINES)
def every_machine(request: pytest.FixtureRequest) -> Iterator[Any]:
    """The test runs once for each."""
    with request.param() as machine:
        yield machine
