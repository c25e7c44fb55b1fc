"""The NVIDIA target's pass list: from traced MLIR to kernels in the LLVM dialect."""

from __future__ import annotations

from functools import partial

from triptych.ir.launch import LAUNCH
from triptych.kernel_ir.dialects.tile import MMA, MMA_BLOCK_SCALE, TENSOR_MAP, WGMMA_STEPS
from triptych.kernel_ir.transforms.divisor_checks import DIVISORS, place_divisor_checks
from triptych.kernel_ir.transforms.extract_device_module import extract_device_module
from triptych.kernel_ir.transforms.fuse_wgmma_k_loop import FUSED, fuse_wgmma_k_loop
from triptych.kernel_ir.transforms.loop_passes import COUNTED, LOOPS, annotate_loops, hint_loops, preserve_spin_loops
from triptych.kernel_ir.transforms.private_arrays import ARRAYS, hoist_allocas, unroll_array_loops
from triptych.kernel_ir.transforms.split_vectors import split_vectors
from triptych.kernel_ir.transforms.wide_conversions import WIDE_CONVERSIONS, convert_wide_integers
from triptych.stages import PassSpec
from triptych.targets.nvptx.description.architectures import Architecture
from triptych.targets.nvptx.passes.block_indices import read_block_indices_again
from triptych.targets.nvptx.passes.cache_hints import joining, lower_cache_hints
from triptych.targets.nvptx.passes.check_architecture import checking, checking_launches, lacking
from triptych.targets.nvptx.passes.expand_tile_mma import expanding_mma
from triptych.targets.nvptx.passes.expand_wgmma import expand_wgmma
from triptych.targets.nvptx.passes.hoist_to_host import DIVISIONS, hoist_to_host, magic_division
from triptych.targets.nvptx.passes.inline_ptx import INLINE, check_inline_ptx, size_inline_addresses
from triptych.targets.nvptx.passes.launch_bounds import assume_nonnegative, bound_launches, mark_extents
from triptych.targets.nvptx.passes.lower_mbarrier_and_tma import (
    LOADS,
    RULES,
    copying,
    pass_tensor_maps,
    take_tensor_maps,
)
from triptych.targets.nvptx.passes.lower_simt import lower_simt
from triptych.targets.nvptx.passes.lower_tensor_memory import TENSOR_RULES, lower_tensor_memory
from triptych.targets.nvptx.passes.merge_traps import CALLS, merge_traps
from triptych.targets.nvptx.passes.narrow_floats import WIDENINGS, expanding, widen_bfloats
from triptych.targets.nvptx.passes.order_atomics import UPDATES, ordering
from triptych.targets.nvptx.passes.select_math import SELECTED, select_math
from triptych.targets.nvptx.passes.uniform_branches import TOGETHER, mark_uniform_branches

_NOTHING: frozenset[str] = frozenset()
"""What passes add that only remove operations, mark them, or make some that no other looks for."""


def before_split(architecture: Architecture) -> tuple[PassSpec, ...]:
    """The passes for one architecture that see launches and kernels together."""
    return (
        PassSpec(
            "place-divisor-checks",
            "A quotient by zero may be left unused.",
            partial(place_divisor_checks, deferred=True),
            DIVISORS,
        ),
        PassSpec(
            "check-architecture",
            "LLVM would abort on an instruction that is missing.",
            checking(architecture),
            lacking(architecture),
            _NOTHING,
        ),
        PassSpec(
            "check-launches",
            "The driver refuses blocks that do not fit.",
            checking_launches(architecture),
            adds=_NOTHING,
        ),
        PassSpec("check-inline-ptx", "LLVM ends the process for constraints it cannot read.", check_inline_ptx, INLINE),
        PassSpec(
            "take-tensor-maps",
            "The host passes another thing than a pointer.",
            take_tensor_maps,
            frozenset({TENSOR_MAP}),
            _NOTHING,
        ),
        PassSpec("hoist-to-host", "All threads would compute the same of the arguments.", hoist_to_host, adds=_NOTHING),
        PassSpec(
            "mark-extents", "Only the launch knows what an argument is.", mark_extents, frozenset({LAUNCH}), _NOTHING
        ),
        PassSpec("bound-launches", "The threads of a block bound the registers of each.", bound_launches),
    )


def pipeline(architecture: Architecture) -> tuple[PassSpec, ...]:
    """The passes for the kernels of one architecture."""
    return *_to_instructions(architecture), *_to_llvm(architecture)


def _to_instructions(architecture: Architecture) -> tuple[PassSpec, ...]:
    """What a GPU has an instruction for becomes that instruction."""
    return (
        PassSpec("expand-narrow-floats", "GPUs convert them and compute in 16 bits or more.", expanding(architecture)),
        PassSpec(
            "convert-wide-integers",
            "LLVM would call functions that no GPU has.",
            convert_wide_integers,
            WIDE_CONVERSIONS,
        ),
        PassSpec(
            "preserve-spin-loops",
            "A loop that waits for a warp computes nothing, but must not go.",
            preserve_spin_loops,
            LOOPS,
        ),
        PassSpec("vectorize-hinted-accesses", "Newer GPUs move 32 bytes at once.", joining(architecture)),
        PassSpec("lower-cache-hints", "LLVM has no words for caches and ordered vectors.", lower_cache_hints),
        PassSpec(
            "order-atomics", "LLVM forgets the order and the scope of atomic updates.", ordering(architecture), UPDATES
        ),
        PassSpec("gpu.module(canonicalize,gpu.func(mem2reg),sccp)", "Whether an MMA accumulates is known."),
        PassSpec(
            "gpu.module(canonicalize,cse,int-range-optimizations,arith-unsigned-when-equivalent,canonicalize,cse)",
            "Thread numbers have known ranges, and unsigned divisions are cheaper.",
        ),
        PassSpec(
            "fuse-wgmma-k-loop",
            "A product takes and gives back all its sums, however deep it is.",
            fuse_wgmma_k_loop,
            FUSED,
            _NOTHING,
        ),
        PassSpec(
            "mark-uniform-branches",
            "Warps that stay together go one way.",
            mark_uniform_branches,
            TOGETHER,
            _NOTHING,
        ),
        PassSpec("lower-simt", "NVIDIA's instructions have a dialect of their own.", lower_simt, adds=_NOTHING),
        *_copies_to_instructions(architecture),
    )


def _copies_to_instructions(architecture: Architecture) -> tuple[PassSpec, ...]:
    """TMA, mbarriers and tensor memory."""
    return (
        PassSpec(
            "read-block-indices-again",
            "A number kept for all lanes is in no uniform register.",
            read_block_indices_again,
            LOADS,
            _NOTHING,
        ),
        PassSpec(
            "lower-mbarrier-and-tma",
            "TMA copies and mbarriers are intrinsics, or inline PTX.",
            copying(architecture),
            frozenset(RULES),
        ),
        PassSpec(
            "lower-tensor-memory",
            "UMMA and tensor memory are intrinsics, which one lane of a warp issues.",
            lower_tensor_memory,
            frozenset(TENSOR_RULES),
        ),
    )


def _to_llvm(architecture: Architecture) -> tuple[PassSpec, ...]:
    """Control flow, memory and the rest become the LLVM dialect."""
    return (
        PassSpec(
            "magic-division", "A division takes as long as ten multiplications.", magic_division, DIVISIONS, _NOTHING
        ),
        PassSpec("hint-loops", "Programs may say how a loop is to be written.", hint_loops, COUNTED, _NOTHING),
        PassSpec("unroll-array-loops", "Registers have no addresses.", unroll_array_loops, ARRAYS, _NOTHING),
        PassSpec("split-vectors", "No register holds a long vector.", split_vectors, ARRAYS, _NOTHING),
        PassSpec(
            "select-math", "What has an instruction needs no function of libdevice.", select_math, SELECTED, WIDENINGS
        ),
        PassSpec("widen-bfloats", "A pair in a register need not be taken apart.", widen_bfloats, WIDENINGS, _NOTHING),
        PassSpec("gpu.module(arith-expand)", "Floor and ceiling division have no LLVM instruction."),
        PassSpec("gpu.module(convert-scf-to-cf)", "PTX has branches only."),
        PassSpec("gpu.module(convert-vector-to-llvm)", "Shuffles and reductions of elements have LLVM operations."),
        PassSpec(
            "gpu.module(convert-gpu-to-nvvm)",
            "Indices are registers, failed checks call `__assertfail`, mathematics calls libdevice.",
        ),
        PassSpec("gpu.module(convert-nvvm-to-llvm)", "Some instructions exist only as inline PTX."),
        PassSpec("gpu.module(reconcile-unrealized-casts)", "Indices are integers on both sides of the passes above."),
        PassSpec("size-inline-addresses", "Addresses of shared memory have 32 bits.", size_inline_addresses, INLINE),
        PassSpec("annotate-loops", "Hints must be where LLVM looks for them.", annotate_loops, adds=_NOTHING),
        PassSpec("merge-traps", "Calls of `__assertfail` are long.", merge_traps, CALLS),
        PassSpec("hoist-allocas", "Memory that a loop reserves grows in every iteration.", hoist_allocas),
        PassSpec("assume-nonnegative", "Divisions by what is never negative need no corrections.", assume_nonnegative),
        PassSpec("pass-tensor-maps", "A map is 128 bytes among the parameters.", pass_tensor_maps, adds=_NOTHING),
        PassSpec(
            "expand-tile-mma",
            "A matrix instruction takes registers, not arrays.",
            expanding_mma(architecture),
            frozenset({MMA, MMA_BLOCK_SCALE}),
        ),
        PassSpec(
            "expand-wgmma",
            "A WGMMA goes on while registers are used for other things.",
            expand_wgmma,
            frozenset(WGMMA_STEPS),
        ),
        PassSpec("extract-device-module", "LLVM has no modules in modules.", extract_device_module),
    )
