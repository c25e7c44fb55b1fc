"""Every kernel example becomes a cubin that NVIDIA's assembler accepts.

Two architectures here; `python -m benchmarks.sass --all` goes through all of them.
"""

from __future__ import annotations

import pytest

import triptych as tt
from tests.unit.targets.nvptx.programs import EXAMPLES
from tests.unit.targets.nvptx.tools import needs_assembler

pytestmark = needs_assembler
ARCHITECTURES = ("sm_80", "sm_90a")


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("name", EXAMPLES)
def test_example_assembles_without_spills(name: str, architecture: str) -> None:
    function, arguments = EXAMPLES[name]()
    compiled = tt.compile(function, *arguments, target=f"nvptx:{architecture}")
    assert compiled.__cubin__.startswith(b"\x7fELF")
    assert compiled.resources
    for kernel, used in compiled.resources.items():
        assert f".entry {kernel}(" in compiled.__ptx__
        assert used.architecture == architecture
        assert used.registers > 0
        assert (used.spill_stores, used.spill_loads) == (0, 0)
