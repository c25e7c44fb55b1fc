"""The AMD target's pass list: from traced MLIR to kernels in the LLVM dialect."""

from __future__ import annotations

from functools import partial

from triptych.kernel_ir.transforms.divisor_checks import DIVISORS, place_divisor_checks
from triptych.kernel_ir.transforms.extract_device_module import extract_device_module
from triptych.kernel_ir.transforms.inline_async_copies import COPIES, inline_async_copies
from triptych.kernel_ir.transforms.loop_passes import COUNTED, LOOPS, annotate_loops, hint_loops, preserve_spin_loops
from triptych.kernel_ir.transforms.mathematics.formulas import FORMULAS, expand_math
from triptych.kernel_ir.transforms.memory_order import ordering_accesses
from triptych.kernel_ir.transforms.memory_scopes import SCOPED, renaming_scopes
from triptych.kernel_ir.transforms.private_arrays import ARRAYS, hoist_allocas, unroll_array_loops
from triptych.kernel_ir.transforms.split_vectors import split_vectors
from triptych.kernel_ir.transforms.wide_conversions import WIDE_CONVERSIONS, convert_wide_integers
from triptych.stages import PassSpec
from triptych.targets.amdgpu.description.chips import Chip
from triptych.targets.amdgpu.passes.check_chip import ROLES, checking, checking_launches, checking_roles
from triptych.targets.amdgpu.passes.copies_into_lds import COPIES as LDS_COPIES
from triptych.targets.amdgpu.passes.copies_into_lds import ISSUED, copying, part_async_copies
from triptych.targets.amdgpu.passes.expand_mma import PRODUCTS, expand_tile_mma
from triptych.targets.amdgpu.passes.kernel_functions import (
    CALLS,
    CHECKS,
    ROUNDINGS,
    SIZES,
    UPDATES,
    bounding,
    count_blocks,
    inline_remainders,
    mark_atomics,
    name_roundings,
    pass_on_bounds,
    trap_checks,
    use_private_memory,
)
from triptych.targets.amdgpu.passes.lower_simt import RULES, lowering
from triptych.targets.amdgpu.passes.narrow_floats import expanding

SCOPES = {"block": "workgroup", "device": "agent"}
"""LLVM's names of memory scopes; it ends its process on others."""
_SCOPES_OF_ORDERS = {"cta": "workgroup", "gpu": "agent", "sys": ""}
_NOTHING: frozenset[str] = frozenset()


def before_split(chip: Chip) -> tuple[PassSpec, ...]:
    """The passes for one chip that see launches and kernels together."""
    return (
        PassSpec(
            "place-divisor-checks",
            "A quotient by zero may be left unused.",
            partial(place_divisor_checks, deferred=True),
            DIVISORS,
        ),
        PassSpec("check-chip", "LLVM would abort on an instruction that is missing.", checking(chip), adds=_NOTHING),
        PassSpec(
            "check-chip-launches",
            "The runtime refuses blocks that do not fit.",
            checking_launches(chip),
            adds=_NOTHING,
        ),
    )


def pipeline(chip: Chip) -> tuple[PassSpec, ...]:
    """The passes for the kernels of one chip."""
    return *_to_instructions(chip), *_to_llvm(chip)


def _to_instructions(chip: Chip) -> tuple[PassSpec, ...]:
    """What a chip has an instruction for becomes that instruction."""
    return (
        PassSpec("expand-narrow-floats", "The machine computes in 16 bits of one format.", expanding()),
        PassSpec(
            "convert-wide-integers",
            "LLVM would call functions that no GPU has.",
            convert_wide_integers,
            WIDE_CONVERSIONS,
        ),
        PassSpec(
            "preserve-spin-loops",
            "A loop that waits for others computes nothing, but must not go.",
            preserve_spin_loops,
            LOOPS,
        ),
        PassSpec(
            "rename-memory-scopes", "LLVM ends its process on unknown names.", renaming_scopes(SCOPES), SCOPED, _NOTHING
        ),
        PassSpec(
            "lower-memory-order",
            "LLVM has orders of accesses to single numbers.",
            ordering_accesses(_SCOPES_OF_ORDERS),
            SCOPED,
        ),
        PassSpec("gpu.module(canonicalize,gpu.func(mem2reg),sccp)", "Distances of shuffles become known."),
        PassSpec(
            "gpu.module(canonicalize,cse,int-range-optimizations,arith-unsigned-when-equivalent,canonicalize,cse)",
            "Thread numbers have known ranges, and unsigned divisions are cheaper.",
        ),
        PassSpec(
            "check-roles",
            "Lanes of a wave cannot wait for each other.",
            checking_roles(chip),
            ROLES,
            _NOTHING,
        ),
        PassSpec("copy-into-lds", "Some copies need no registers.", copying(chip), LDS_COPIES),
        PassSpec("inline-async-copies", "The others go through them.", inline_async_copies, COPIES),
        PassSpec("lower-simt", "What waves do together are intrinsics.", lowering(chip), frozenset(RULES)),
        PassSpec("count-blocks", "Upstream would call AMD's device library.", count_blocks, SIZES),
        PassSpec("trap-checks", "A failed check ends the kernel.", trap_checks, CHECKS),
        PassSpec("bound-waves", "The threads of a block bound the registers of each.", bounding(chip), adds=_NOTHING),
    )


def _to_llvm(chip: Chip) -> tuple[PassSpec, ...]:
    """Control flow, memory and the rest become the LLVM dialect."""
    return (
        PassSpec("hint-loops", "Programs may say how a loop is to be written.", hint_loops, COUNTED, _NOTHING),
        PassSpec("unroll-array-loops", "Registers have no addresses.", unroll_array_loops, ARRAYS, _NOTHING),
        PassSpec("split-vectors", "No register holds a long vector.", split_vectors, ARRAYS, _NOTHING),
        PassSpec("expand-math", "There is no library.", expand_math, frozenset(FORMULAS)),
        PassSpec("name-roundings", "Upstream would refuse them.", name_roundings, ROUNDINGS, _NOTHING),
        PassSpec("gpu.module(arith-expand)", "Floor and ceiling division have no LLVM instruction."),
        PassSpec("gpu.module(convert-scf-to-cf)", "LLVM has branches only."),
        PassSpec("gpu.module(convert-vector-to-llvm)", "Shuffles and reductions of elements have LLVM operations."),
        PassSpec("gpu.module(convert-math-to-llvm)", "Exact functions are intrinsics; upstream would call a library."),
        PassSpec(
            f"gpu.module(convert-gpu-to-rocdl{{chipset={chip.name} runtime=HIP}})",
            "Indices are registers, and barriers wait for memory.",
        ),
        PassSpec(
            "gpu.module(convert-arith-to-llvm,convert-index-to-llvm,convert-ub-to-llvm)", "What is left of arithmetic."
        ),
        PassSpec("convert-cf-to-llvm", "Branches last, when all types are LLVM's."),
        PassSpec("gpu.module(reconcile-unrealized-casts)", "Indices are integers on both sides of the passes above."),
        PassSpec("inline-remainders", "There is no library.", inline_remainders, CALLS, _NOTHING),
        PassSpec("annotate-loops", "Hints must be where LLVM looks for them.", annotate_loops, adds=_NOTHING),
        PassSpec("hoist-allocas", "Memory that a loop reserves grows in every iteration.", hoist_allocas),
        PassSpec("expand-tile-mma", "Matrix instructions last: they are many.", expand_tile_mma, PRODUCTS),
        PassSpec("use-private-memory", "Memory of a thread has its own addresses.", use_private_memory, ARRAYS),
        PassSpec("part-async-copies", "LLVM would wait for all at once.", part_async_copies, ISSUED, _NOTHING),
        PassSpec("mark-atomics", "Updates of floats are instructions.", mark_atomics, UPDATES, _NOTHING),
        PassSpec("pass-on-bounds", "LLVM reads them from its own functions.", pass_on_bounds, adds=_NOTHING),
        PassSpec("extract-device-module", "LLVM has no modules in modules.", extract_device_module),
    )
