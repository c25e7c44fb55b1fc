"""`check-architecture`, `check-launches`: what a GPU does not have is refused, and all else kept."""

from __future__ import annotations

import pytest

from tests.passes.running import kernel, parsed
from triptych.objectstage.device_errors import ArchitectureError
from triptych.targets.nvptx.description.architectures import ARCHITECTURES
from triptych.targets.nvptx.passes.check_architecture import CLUSTERS_SINCE, checking, checking_launches

HOST = """
func.func @host(%runtime: i32) {
  %one = arith.constant 1 : i32
  %bytes = arith.constant BYTES : i32
  gpu.launch_func @kernels::@k CLUSTER blocks in (%one, %one, %one) threads in (%one, %one, %one) : i32
    dynamic_shared_memory_size SHARED FLAGS
  return
}
"""


def launch(cluster: str = "", flags: str = "", size: int = 0, shared: str = "%bytes") -> str:
    host = HOST.replace("CLUSTER", cluster).replace("FLAGS", flags).replace("BYTES", str(size))
    return kernel("", host=host.replace("SHARED", shared))


def reduce(kind: str) -> str:
    return kernel(f'%r = "simt.reduce"(%f, %m) {{kind = "{kind}"}} : (f32, i32) -> f32', "%f: f32, %m: i32")


ELECT = kernel('%r = "simt.elect"() : () -> i1')
BARRIER = kernel('"simt.mbarrier_wait"(%s, %m) : (!llvm.ptr<3>, i32) -> ()', "%s: !llvm.ptr<3>, %m: i32")
GROUP = kernel('"tile.wgmma_fence"() : () -> ()')
REGISTERS = kernel('"simt.set_registers"() {kind = "increase", count = 232 : i64} : () -> ()')
WAIT = kernel('"simt.async_wait"() {groups = 1 : i32} : () -> ()')


@pytest.mark.parametrize(
    ("architecture", "program", "found", "expected"),
    [
        ("sm_89", ELECT, "elect.sync", "sm_90 or newer"),
        ("sm_80", ELECT, "elect.sync", "sm_90 or newer"),
        ("sm_90", reduce("fmin"), "redux.sync", "sm_100a or newer"),
        ("sm_90a", reduce("fmax"), "redux.sync", "sm_100a or newer"),
        ("sm_89", BARRIER, "mbarrier.try_wait", "sm_90 or newer\n  = write: target='nvptx:sm_90'"),
        ("sm_90", GROUP, "wgmma.fence", "sm_90a\n  = write: target='nvptx:sm_90a'"),
        ("sm_100a", GROUP, "wgmma.fence", "sm_90a\n  = write: target='nvptx:sm_90a'"),
        ("sm_90", REGISTERS, "setmaxnreg", "sm_90a or newer\n  = write: target='nvptx:sm_90a'"),
    ],
)
def test_missing_instructions(architecture: str, program: str, found: str, expected: str) -> None:
    module = parsed(program)
    with pytest.raises(ArchitectureError, match=f"{architecture} has no instruction for this") as error:
        checking(ARCHITECTURES[architecture])(module)
    assert f"found: {found}" in str(error.value)
    assert f"expected: {expected}" in str(error.value)


@pytest.mark.parametrize(
    ("architecture", "program"),
    [
        ("sm_80", WAIT),
        ("sm_90", ELECT),
        ("sm_120a", ELECT),
        ("sm_90", BARRIER),
        ("sm_90a", GROUP),
        ("sm_120a", REGISTERS),
        ("sm_80", reduce("add")),  # only that of floats is newer
        ("sm_100a", reduce("fmin")),
    ],
)
def test_instructions_that_are_there(architecture: str, program: str) -> None:
    checking(ARCHITECTURES[architecture])(parsed(program))


def test_host_functions_have_no_instructions() -> None:
    host = 'func.func @host() { %r = "simt.elect"() : () -> i1 return }'
    checking(ARCHITECTURES["sm_80"])(parsed(kernel("", host=host)))


CLUSTER, OVERLAPPING = "clusters in (%one, %one, %one)", "{triptych.use_pdl}"


def test_clusters_and_overlapping_launches() -> None:
    assert CLUSTERS_SINCE == 90
    for architecture in ("sm_90", "sm_100a"):
        checking_launches(ARCHITECTURES[architecture])(parsed(launch(CLUSTER, OVERLAPPING)))
    for architecture in ("sm_80", "sm_89"):
        with pytest.raises(ArchitectureError, match=f"{architecture} has no clusters of blocks") as error:
            checking_launches(ARCHITECTURES[architecture])(parsed(launch(CLUSTER)))
        assert "sm_90 or newer, or a launch without `cluster`" in str(error.value)
        with pytest.raises(ArchitectureError, match=f"{architecture} has no programmatic dependent launch") as error:
            checking_launches(ARCHITECTURES[architecture])(parsed(launch(flags=OVERLAPPING)))
        assert "sm_90 or newer, or a launch without `use_pdl`" in str(error.value)
        checking_launches(ARCHITECTURES[architecture])(parsed(launch()))


def test_events() -> None:
    programmatic, completion = "{triptych.programmatic_event}", "{triptych.launch_completion_event}"
    for architecture in ("sm_80", "sm_89", "sm_90", "sm_100a"):
        checking_launches(ARCHITECTURES[architecture])(parsed(launch(flags=completion)))
    for architecture in ("sm_90", "sm_100a"):
        checking_launches(ARCHITECTURES[architecture])(parsed(launch(flags=programmatic)))
    for architecture in ("sm_80", "sm_89"):
        with pytest.raises(ArchitectureError, match=f"{architecture} has no programmatic events") as error:
            checking_launches(ARCHITECTURES[architecture])(parsed(launch(flags=programmatic)))
        assert "sm_90 or newer, or `launch_completion_event`" in str(error.value)


@pytest.mark.parametrize("architecture", ["sm_80", "sm_86"])
def test_shared_memory(architecture: str) -> None:
    most = ARCHITECTURES[architecture].shared_of_a_block
    check = checking_launches(ARCHITECTURES[architecture])
    check(parsed(launch(size=most)))
    check(parsed(launch(size=most + 1, shared="%runtime")))
    with pytest.raises(ArchitectureError, match="cannot have that much shared memory") as error:
        check(parsed(launch(size=most + 1)))
    assert f"found: {most + 1} bytes" in str(error.value)
    assert f"expected: at most {most} bytes" in str(error.value)
