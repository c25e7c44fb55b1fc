"""`check-chip`, `check-chip-launches`, `check-roles`: what a chip of AMD's lacks is an error at the user's line."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import triptych as tt
from tests.passes.running import kernel, parsed
from tests.unit.targets.amdgpu.programs import compiled
from triptych import cute
from triptych.diagnostics.kernel_errors import LaunchShapeError
from triptych.objectstage.device_errors import ArchitectureError
from triptych.targets.amdgpu.description.chips import CHIPS
from triptych.targets.amdgpu.passes.check_chip import checking, checking_launches

arch = cute.arch


def refused(body: Any, chip: str = "gfx942", **options: Any) -> str:
    """What is said of a program, with the line that is marked in it."""
    with pytest.raises(ArchitectureError) as error:
        compiled(body, chip, **{"shared": 8, **options})
    said = str(error.value)
    assert "TT0511" in said
    assert "test_check_chip.py" in said
    return said


# Programs -------------------------------------------------------------------------------------------------------------
def named_barrier(x: Any, y: Any, t: Any) -> None:
    arch.barrier(barrier_id=1, number_of_threads=128)


def arrive(x: Any, y: Any, t: Any) -> None:
    arch.barrier_arrive(barrier_id=1, number_of_threads=256)


def print_number(x: Any, y: Any, t: Any) -> None:
    cute.printf("%d\n", t)


def mbarrier(x: Any, y: Any, t: Any) -> None:
    arch.mbarrier_init(arch.alloc_smem(tt.Int64, 1), 1)


def cluster_barrier(x: Any, y: Any, t: Any) -> None:
    arch.cluster_arrive()


def registers(x: Any, y: Any, t: Any) -> None:
    arch.setmaxregister_increase(232)


def dependents(x: Any, y: Any, t: Any) -> None:
    arch.griddepcontrol_wait()


def sine_of_64_bits(x: Any, y: Any, t: Any) -> None:
    y[t] = cute.math.sin(x[t].to(tt.Float64)).to(tt.Float32)


WRONG = {
    "named barrier": (named_barrier, "a barrier of 128 threads", "cute.arch.barrier()"),
    "arrival": (arrive, "simt.barrier_arrive", "a barrier of the whole block"),
    "printing": (print_number, "gpu.printf", "target='cpu'"),
    "mbarrier": (mbarrier, "simt.mbarrier_init", "a barrier of the whole block"),
    "cluster": (cluster_barrier, "simt.cluster_arrive", "without `cluster`"),
    "registers": (registers, "simt.set_registers", "setmaxregister"),
    "overlapping launches": (dependents, "simt.await_previous_grid", "use_pdl"),
    "sine of 64 bits": (sine_of_64_bits, "sin of Float64", "Float32"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_amd_has_not(name: str) -> None:
    body, found, instead = WRONG[name]
    said = refused(body, dtype=tt.Float32 if "sine" in name else tt.Int32)
    assert found in said
    assert instead in said


def parted_barriers(x: Any, y: Any, t: Any) -> None:
    if t // 32 == 0:
        y[t] = 1
        arch.barrier()
    else:
        arch.barrier()


def whole_roles(x: Any, y: Any, t: Any) -> None:
    if arch.warp_idx() == 0:
        y[t] = 1
        arch.barrier()
    else:
        arch.barrier()


def test_roles_that_split_a_wave() -> None:
    """Half a wave would wait for the other half, which waits for it."""
    said = refused(parted_barriers)
    assert "if t // 32 == 0" in said
    assert "64 threads each" in said
    compiled(whole_roles, "gfx942")
    compiled(parted_barriers, "gfx1100")


def roles_of_votes(x: Any, y: Any, t: Any) -> None:
    if arch.vote_any_sync(x[t] > 0):
        arch.barrier()
    else:
        arch.barrier()


def pairs_of_warps(x: Any, y: Any, t: Any) -> None:
    if t // 64 == 0:
        arch.barrier()
    else:
        arch.barrier()


def test_roles_of_warps_that_share_a_wave() -> None:
    """What one warp has found out together, the other of the wave may have found out otherwise."""
    compiled(roles_of_votes, "gfx942")
    compiled(pairs_of_warps, "gfx942:32")
    for body in (roles_of_votes, whole_roles, parted_barriers):
        assert "64 threads each" in refused(body, "gfx942:32")


def spin(x: Any, y: Any, t: Any) -> None:
    if t % 2 == 0:
        while arch.load(x.iterator, tt.Int32, sem="acquire", scope="gpu") == 0:
            pass
    else:
        x[0] = 1


def test_lanes_that_wait_for_other_lanes_of_their_wave() -> None:
    assert "cannot wait for each other" in refused(spin)


def tall(x: Any, y: Any, t: Any) -> None:
    y[t] = x[t]


def test_more_shared_memory_than_a_block_has() -> None:
    with pytest.raises(LaunchShapeError, match="0 to 65536 bytes"):
        compiled(tall, "gfx942", shared=65537)
    compiled(tall, "gfx950", shared=160 * 1024)


@tt.jit
def launch_cluster(y: cute.Tensor) -> None:
    store(y).launch(grid=2, block=64, cluster=(2, 1, 1))


@tt.jit
def launch_overlapping(y: cute.Tensor) -> None:
    store(y).launch(grid=2, block=64, use_pdl=True)


@tt.kernel
def store(y: cute.Tensor) -> None:
    y[cute.arch.thread_idx()[0]] = 1.0


@pytest.mark.parametrize(("launch", "what"), [(launch_cluster, "clusters"), (launch_overlapping, "programmatic")])
def test_launches(launch: Any, what: str) -> None:
    with pytest.raises(ArchitectureError, match=f"gfx942 has no {what}") as error:
        tt.compile(launch, np.zeros(64, np.float32), target="amdgpu:gfx942")
    assert "test_check_chip.py" in str(error.value)


# Modules --------------------------------------------------------------------------------------------------------------
def is_refused(body: str, arguments: str = "") -> None:
    with pytest.raises(ArchitectureError):
        checking(CHIPS["gfx942"])(parsed(kernel(body, arguments)))


def test_what_nobody_has_listed_is_refused() -> None:
    """A list of what there is: an operation that is new to kernels stops here."""
    is_refused("%r = rocdl.workitem.id.x : i32")
    is_refused('llvm.inline_asm has_side_effects "nop", "" : () -> ()')
    is_refused('llvm.call_intrinsic "llvm.nvvm.barrier0"() : () -> ()')
    is_refused('%r = llvm.call_intrinsic "llvm.amdgcn.permlane32.swap"() : () -> i32')
    is_refused("%r = complex.re %c : complex<f32>", "%c: complex<f32>")


def test_intrinsics_that_there_are() -> None:
    body = '%r = llvm.call_intrinsic "llvm.fptosi.sat.i32.f32"(%x) : (f32) -> i32'
    module = parsed(kernel(body, "%x: f32"))
    checking(CHIPS["gfx942"])(module)
    checking_launches(CHIPS["gfx942"])(module)
