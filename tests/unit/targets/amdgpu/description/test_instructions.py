"""Every row of AMD's tables, compiled for every chip: operations as programs write them, intrinsics as passes call
them.
"""

from __future__ import annotations

from typing import Any

import pytest

import triptych as tt
from tests.unit.targets.amdgpu.programs import GFX9, compiled, instructions, made_by_llvm
from triptych import cute
from triptych.ir.errors import CodegenError
from triptych.kernel_ir.dialects.simt import KERNEL_DIALECTS
from triptych.targets.amdgpu.code_generation import check_names
from triptych.targets.amdgpu.description import instructions as isa
from triptych.targets.amdgpu.description.chips import CHIPS

arch = cute.arch


# What programs write --------------------------------------------------------------------------------------------------
def block_index(x: Any, y: Any, t: Any) -> None:
    y[t] = arch.block_idx()[0]


def grid_size(x: Any, y: Any, t: Any) -> None:
    y[t] = arch.grid_dim()[0]


def lane_of_two_dimensions(x: Any, y: Any, t: Any) -> None:
    y[t] = x[arch.lane_idx()]


def barrier(x: Any, y: Any, t: Any) -> None:
    y[t] = t
    arch.barrier()
    y[t] = y[t ^ 1]


def whole_numbered_barrier(x: Any, y: Any, t: Any) -> None:
    y[t] = t
    arch.barrier(barrier_id=3, number_of_threads=256)
    y[t] = y[t ^ 1]


def wave_barrier(x: Any, y: Any, t: Any) -> None:
    y[t] = t
    arch.sync_warp()
    y[t] = y[t ^ 1]


def elect(x: Any, y: Any, t: Any) -> None:
    with arch.elect_one():
        y[t] = 1


def any_lane(x: Any, y: Any, t: Any) -> None:
    y[t] = x[arch.lane_idx() + (t & x[0])]


def match(x: Any, y: Any, t: Any) -> None:
    y[t] = arch.match_any_sync(x[t]).to(tt.Int32)


def match_64(x: Any, y: Any, t: Any) -> None:
    y[t] = arch.match_any_sync(x[t].to(tt.Int64) * 3).to(tt.Int32)


def reduce(x: Any, y: Any, t: Any) -> None:
    y[t] = arch.warp_redux_sync(x[t], "add")


def reduce_by_groups(x: Any, y: Any, t: Any) -> None:
    y[t] = arch.warp_redux_sync(x[t], "min", mask_and_clamp=x[t + 1])


def largest(x: Any, y: Any, t: Any) -> None:
    y[t] = arch.warp_redux_sync(x[t], "fmax", nan=True)


def exchange_1(x: Any, y: Any, t: Any) -> None:
    y[t] = x[t] + arch.shuffle_sync_bfly(x[t], offset=1)


def exchange_4(x: Any, y: Any, t: Any) -> None:
    y[t] = arch.shuffle_sync_bfly(x[t], offset=4)


def exchange_8(x: Any, y: Any, t: Any) -> None:
    y[t] = arch.shuffle_sync_bfly(x[t], offset=8)


def exchange_16(x: Any, y: Any, t: Any) -> None:
    y[t] = arch.shuffle_sync_bfly(x[t], offset=16)


def read_lane_5(x: Any, y: Any, t: Any) -> None:
    y[t] = arch.shuffle_sync(x[t], offset=5)


def read_any_lane(x: Any, y: Any, t: Any) -> None:
    y[t] = arch.shuffle_sync(x[t], offset=x[t + 1])


def down_by_one(x: Any, y: Any, t: Any) -> None:
    y[t] = arch.shuffle_sync_down(x[t], offset=1)


def up_by_three(x: Any, y: Any, t: Any) -> None:
    y[t] = arch.shuffle_sync_up(x[t], offset=3)


def vote_all(x: Any, y: Any, t: Any) -> None:
    y[t] = arch.vote_all_sync(x[t] > 0).to(tt.Int32)


def ballot(x: Any, y: Any, t: Any) -> None:
    y[t] = arch.vote_ballot_sync(x[t] > 0).to(tt.Int32)


def sleep(x: Any, y: Any, t: Any) -> None:
    arch.nanosleep(sleep_time=1000)


def clock(x: Any, y: Any, t: Any) -> None:
    y[t] = arch.clock64().to(tt.Int32)


def timer(x: Any, y: Any, t: Any) -> None:
    y[t] = arch.globaltimer().to(tt.Int32)


def atomic_add(x: Any, y: Any, t: Any) -> None:
    arch.atomic_add(y.iterator + t, x[t])


def compare_and_swap(x: Any, y: Any, t: Any) -> None:
    y[t] = arch.atomic_cas(x.iterator + t, cmp=t, val=1)


def fence(x: Any, y: Any, t: Any) -> None:
    y[t] = x[t]
    arch.fence_acq_rel_gpu()
    y[t + 256] = 1


def quotient(x: Any, y: Any, t: Any) -> None:
    y[t] = t // x[t]


Wanted = tuple[Any, str, str]
"""A body, and the instruction that it must become: on gfx9, and on RDNA where that differs."""
WRITTEN: dict[str, Wanted] = {
    "gpu.block_id": (block_index, "v_mov_b32_e32", "v_dual_mov_b32|v_mov_b32_e32|ttmp9"),
    "gpu.grid_dim": (grid_size, "s_load_dword", "s_load_b"),
    "gpu.lane_id": (lane_of_two_dimensions, "v_and_b32_e32", ""),
    "gpu.barrier": (barrier, "s_barrier", ""),
    "simt.barrier": (whole_numbered_barrier, "s_barrier", ""),
    "simt.sync_warp": (wave_barrier, "global_store_dword", "global_store_b32"),
    "simt.elect": (elect, "v_mbcnt_lo_u32_b32", ""),
    "simt.match": (match, "v_readfirstlane_b32", ""),
    "simt.match of 64 bits": (match_64, "v_cmp_eq_u64", ""),
    "simt.reduce": (reduce, "v_add_u32_dpp", "v_add_nc_u32_dpp"),
    "simt.reduce by groups": (reduce_by_groups, "v_min_i32_dpp", ""),
    "simt.shuffle": (read_any_lane, "ds_bpermute_b32", ""),
    "simt.shuffle up": (up_by_three, "ds_bpermute_b32", ""),
    "simt.shuffle bfly 1": (exchange_1, "v_add_u32_dpp", "v_add_nc_u32_dpp"),
    "simt.shuffle bfly 4": (exchange_4, "ds_swizzle_b32", "v_mov_b32_dpp"),
    "simt.shuffle bfly 8": (exchange_8, "v_mov_b32_dpp", ""),
    "simt.shuffle bfly 16": (exchange_16, "ds_swizzle_b32", "v_permlanex16_b32"),
    "simt.shuffle idx": (read_lane_5, "v_readlane_b32", ""),
    "simt.shuffle down": (down_by_one, "v_mov_b32_dpp", "ds_bpermute_b32"),
    "simt.vote": (vote_all, "v_cmp", ""),
    "simt.vote ballot": (ballot, "v_cmp", ""),
    "simt.sleep": (sleep, "s_sleep", ""),
    "simt.clock": (clock, "s_memtime", "s_getreg_b32"),
    "simt.global_timer": (timer, "s_memrealtime", "s_sendmsg_rtn_b64"),
    "llvm.atomicrmw": (atomic_add, "global_atomic_add", ""),
    "llvm.cmpxchg": (compare_and_swap, "global_atomic_cmpswap", ""),
    "llvm.fence": (fence, "s_waitcnt", "s_waitcnt|s_wait_loadcnt"),
    "llvm.load": (exchange_1, "global_load_dword", "global_load_b32"),
    "llvm.store": (exchange_1, "global_store_dword", "global_store_b32"),
    "cf.assert": (quotient, "s_trap", "s_trap|s_endpgm"),
}


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("name", WRITTEN)
def test_an_operation_becomes_its_instruction(name: str, chip: str) -> None:
    written, gfx9, rdna = WRITTEN[name]
    wanted = gfx9 if chip in GFX9 or not rdna else rdna
    found = compiled(written, chip).asm
    assert any(each in found for each in wanted.split("|")), found


@pytest.mark.parametrize("chip", CHIPS)
def test_floats_of_atomics_and_sums(chip: str) -> None:
    """No loop around an update in the memory of the GPU."""
    added = instructions(compiled(atomic_add, chip, tt.Float32).asm)
    assert sum(line.startswith("global_atomic_add_f32") for line in added) == 1
    assert not any("cmpswap" in line for line in added)
    assert any("v_max" in line for line in instructions(compiled(largest, chip, tt.Float32).asm))


def remainder(x: Any, y: Any, t: Any) -> None:
    y[t] = x[t] % y[t] + x[t] // y[t]


@pytest.mark.parametrize("dtype", [tt.Float16, tt.BFloat16, tt.Float32, tt.Float64], ids=str)
def test_remainders_of_floats_call_nothing(dtype: Any) -> None:
    """By a loop: one division and one product would be wrong where the quotient has more digits than a number."""
    lines = instructions(compiled(remainder, "gfx942", dtype).asm)
    assert any(line.startswith("s_cbranch") for line in lines)
    assert not any(line.startswith("s_swappc") for line in lines)


def test_rows_are_about_operations_that_there_are() -> None:
    ours = {name for dialect in KERNEL_DIALECTS for name in dialect.operations}
    assert {name for name in isa.OPERATIONS if name.startswith(("simt.", "tile."))} <= ours


def test_every_row_with_an_instruction_is_written_by_a_program() -> None:
    shown = {name.split(" ")[0] for name in WRITTEN}
    lds = {"simt.async_copy"}  # `analysis/test_waits.py`
    every_thread = {"gpu.thread_id", "gpu.return"}
    assert {row.operation for row in isa.ROWS if row.gfx9} <= shown | lds | every_thread


def test_each_operation_of_ours_has_a_row_or_a_reason() -> None:
    """A new operation is refused with words of its own."""
    ours = {str(name) for dialect in KERNEL_DIALECTS for name in dialect.operations}
    unsaid = {name for name in ours - isa.OPERATIONS.keys() if isa.why_missing(name)[0] == "has no such operation"}
    assert not unsaid


# What passes call -----------------------------------------------------------------------------------------------------
CALLS = {
    "llvm.amdgcn.ballot.i64": "%m = call i64 @{}(i1 %c)\n %r = trunc i64 %m to i32",
    "llvm.amdgcn.ballot.i32": "%r = call i32 @{}(i1 %c)",
    "llvm.amdgcn.ds.bpermute": "%r = call i32 @{}(i32 %a, i32 %b)",
    "llvm.amdgcn.ds.swizzle": "%r = call i32 @{}(i32 %a, i32 1055)",
    "llvm.amdgcn.update.dpp.i32": "%r = call i32 @{}(i32 0, i32 %a, i32 320, i32 15, i32 15, i1 true)",
    "llvm.amdgcn.permlanex16.i32": "%r = call i32 @{}(i32 %a, i32 %a, i32 1985229328, i32 -19088744, i1 0, i1 0)",
    "llvm.amdgcn.permlane32.swap": (
        "%s = call {{ i32, i32 }} @{}(i32 %a, i32 %b, i1 0, i1 0)\n %r = extractvalue {{ i32, i32 }} %s, 1"
    ),
    "llvm.amdgcn.readlane.i32": "%r = call i32 @{}(i32 %a, i32 3)",
    "llvm.amdgcn.readfirstlane.i32": "%r = call i32 @{}(i32 %a)",
    "llvm.amdgcn.mbcnt.lo": "%r = call i32 @{}(i32 %a, i32 %b)",
    "llvm.amdgcn.mbcnt.hi": "%r = call i32 @{}(i32 %a, i32 %b)",
    "llvm.amdgcn.set.inactive.i32": "%r = call i32 @{}(i32 %a, i32 7)",
    "llvm.amdgcn.strict.wwm.i32": "%r = call i32 @{}(i32 %a)",
    "llvm.amdgcn.wave.barrier": "call void @{}()\n %r = add i32 %a, %b",
    "llvm.amdgcn.s.barrier": "call void @{}()\n %r = add i32 %a, %b",
    "llvm.amdgcn.s.barrier.signal": "call void @{}(i32 -1)\n %r = add i32 %a, %b",
    "llvm.amdgcn.s.barrier.wait": "call void @{}(i16 -1)\n %r = add i32 %a, %b",
    "llvm.amdgcn.s.sleep": "call void @{}(i32 3)\n %r = add i32 %a, %b",
    "llvm.readcyclecounter": "%m = call i64 @{}()\n %r = trunc i64 %m to i32",
    "llvm.readsteadycounter": "%m = call i64 @{}()\n %r = trunc i64 %m to i32",
    "llvm.amdgcn.global.load.lds": (
        "call void @{}(ptr addrspace(1) %p, ptr addrspace(3) %l, i32 4, i32 0, i32 0)\n %r = add i32 %a, %b"
    ),
    "llvm.amdgcn.s.waitcnt": "call void @{}(i32 3952)\n %r = add i32 %a, %b",
    "llvm.amdgcn.sched.barrier": "call void @{}(i32 1935)\n %r = add i32 %a, %b",
    "llvm.amdgcn.dispatch.ptr": "%d = call ptr addrspace(4) @{}()\n %r = load i32, ptr addrspace(4) %d",
    "llvm.trap": "call void @{}()\n %r = add i32 %a, %b",
}
FRAME = """
define amdgpu_kernel void @kernel(ptr addrspace(1) %p, ptr addrspace(3) %l) #0 {{
  %i = call i32 @llvm.amdgcn.workitem.id.x()
  %q = getelementptr i32, ptr addrspace(1) %p, i32 %i
  %a = load i32, ptr addrspace(1) %q
  %b = load i32, ptr addrspace(1) %p
  %x = bitcast i32 %a to float
  %c = icmp sgt i32 %a, 0
  {}
  store i32 %r, ptr addrspace(1) %q
  ret void
}}
attributes #0 = {{ nounwind "amdgpu-flat-work-group-size"="256,256" }}
"""


def test_each_intrinsic_is_called() -> None:
    assert CALLS.keys() == isa.INTRINSICS.keys()


@pytest.mark.parametrize("name", CALLS)
def test_an_intrinsic_becomes_its_instruction_on_chips_that_have_it(name: str) -> None:
    intrinsic = isa.INTRINSICS[name]
    chips = [chip for chip in CHIPS.values() if intrinsic.is_on(chip)]
    assert chips
    for chip in chips:
        assembly = made_by_llvm(FRAME.format(CALLS[name].format(name)), chip.name).assembly
        wanted = intrinsic.gfx9 if chip.name in GFX9 else intrinsic.rdna
        assert wanted in assembly, (chip.name, assembly)
        assert "@rel32" not in assembly, "LLVM does not know it, and makes a call"


def test_names_that_llvm_would_make_calls_of_are_refused() -> None:
    for name in ("llvm.amdgcn.wait.asyncmark", "llvm.amdgcn.permlane32.swap"):
        with pytest.raises(CodegenError, match="gfx942 has no instruction") as refused:
            check_names(f"declare void @{name}(i32)\n", CHIPS["gfx942"])
        assert name in str(refused.value)
