from __future__ import annotations

import pytest

from triptych.targets.nvptx.description.architectures import ARCHITECTURES
from triptych.targets.nvptx.report.resources import Resources, occupancy, read_report

REPORT = """\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'first' for 'sm_80'
ptxas info    : Function properties for first
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 20 registers, used 1 barriers, 392 bytes cmem[0]
ptxas info    : Compile time = 3.1 ms
ptxas info    : Compiling entry function 'second' for 'sm_80'
ptxas info    : Function properties for second
    64 bytes stack frame, 12 bytes spill stores, 16 bytes spill loads
ptxas info    : Used 255 registers, used 0 barriers, 64 bytes cumulative stack size, 2048 bytes smem, 376 bytes cmem[0]
"""


def test_report_is_read() -> None:
    assert read_report(REPORT) == {
        "first": Resources("first", "sm_80", registers=20, barriers=1),
        "second": Resources("second", "sm_80", 255, 0, shared=2048, stack=64, spill_stores=12, spill_loads=16),
    }


def test_remarks_are_about_the_function_that_they_name_or_about_all() -> None:
    lost = "Potential Performance Loss: wgmma.mma_async instructions are serialized in the function 'second'"
    ignored = "(C7508) Potential Performance Loss: 'setmaxnreg' ignored; unable to determine register count at entry."
    found = read_report(f"ptxas info    : {ignored}\nptxas info    : (C7513) {lost}\n{REPORT}")
    of_all = "C7508 'setmaxnreg' ignored; unable to determine register count at entry."
    assert found["first"].remarks == (of_all,)
    assert found["second"].remarks == (of_all, f"C7513 {lost.partition(': ')[2]}")
    added = "ptxas info    : (C75{}) {} is injected in around line 618 by compiler to allow use of registers"
    found = read_report("\n".join([added.format(19, "warpgroup.arrive"), added.format(17, "wgmma.wait_group"), REPORT]))
    assert [remark[:5] for remark in found["first"].remarks] == ["C7517"]


def test_a_report_without_kernels_is_empty() -> None:
    assert read_report("ptxas info    : 0 bytes gmem\n") == {}


@pytest.mark.parametrize(
    ("architecture", "registers", "threads", "shared", "blocks"),
    [
        ("sm_80", 32, 256, 0, 8),  # as many threads as there is room for
        ("sm_86", 32, 256, 0, 6),
        ("sm_80", 16, 32, 0, 32),  # as many blocks
        ("sm_89", 16, 32, 0, 24),
        ("sm_80", 64, 256, 0, 4),  # as many registers
        ("sm_80", 255, 256, 0, 1),
        ("sm_80", 168, 128, 0, 3),
        ("sm_90a", 32, 128, 100 * 1024, 2),  # as much shared memory
        ("sm_80", 255, 1024, 0, 0),  # it cannot run
    ],
)
def test_occupancy(architecture: str, registers: int, threads: int, shared: int, blocks: int) -> None:
    used = Resources("k", architecture, registers)
    assert occupancy(used, ARCHITECTURES[architecture], threads, shared) == blocks
