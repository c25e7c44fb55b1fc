"""The SPIR-V target's pass list: from traced MLIR to kernels in the LLVM dialect, as OpenCL has them."""

from __future__ import annotations

from functools import partial

from triptych.kernel_ir.transforms.divisor_checks import DIVISORS, place_divisor_checks
from triptych.kernel_ir.transforms.extract_device_module import extract_device_module
from triptych.kernel_ir.transforms.inline_async_copies import COPIES, inline_async_copies
from triptych.kernel_ir.transforms.loop_passes import annotate_loops
from triptych.kernel_ir.transforms.mathematics.formulas import FORMULAS, expand_math
from triptych.kernel_ir.transforms.memory_scopes import SCOPED, renaming_scopes
from triptych.kernel_ir.transforms.narrow_floats.bfloat16_bits import move_bfloat16_as_bits
from triptych.kernel_ir.transforms.private_arrays import ARRAYS, hoist_allocas, unroll_array_loops
from triptych.kernel_ir.transforms.split_vectors import split_vectors
from triptych.kernel_ir.transforms.wide_conversions import WIDE_CONVERSIONS, convert_wide_integers
from triptych.stages import PassSpec
from triptych.targets.spirv.passes.call_math import CALLED, call_math
from triptych.targets.spirv.passes.check_kernels import check_kernels, check_launches, check_progress
from triptych.targets.spirv.passes.expand_tile import EXPANDED, expand_tile
from triptych.targets.spirv.passes.lower_checks import CHECKS, lower_checks
from triptych.targets.spirv.passes.lower_simt import LOWERED, lower_simt
from triptych.targets.spirv.passes.lower_threads import lower_threads, name_sub_groups
from triptych.targets.spirv.passes.narrow_floats import expand_narrow_floats
from triptych.targets.spirv.passes.saturating_conversions import INTRINSICS, expand_saturating_conversions
from triptych.targets.spirv.passes.split_accesses import ACCESSES, split_accesses
from triptych.targets.spirv.passes.word_atomics import UPDATES, word_atomics

_SCOPES = {"block": "workgroup", "cluster": "workgroup", "device": "device"}
"""A cluster is a block: there are no larger ones."""

BEFORE_SPLIT = (
    PassSpec(
        "place-divisor-checks",
        "A quotient by zero may be left unused.",
        partial(place_divisor_checks, deferred=True),
        DIVISORS,
    ),
    PassSpec("check-launches", "OpenCL has no clusters.", check_launches),
    PassSpec("check-kernels", "What OpenCL lacks is refused.", check_kernels),
)
"""What sees launches and kernels together."""

PIPELINE = (
    PassSpec("expand-narrow-floats", "OpenCL computes in 16 bits or more.", expand_narrow_floats),
    PassSpec("move-bfloat16-as-bits", "OpenCL has no BFloat16.", move_bfloat16_as_bits),
    PassSpec("convert-wide-integers", "OpenCL has no functions for them.", convert_wide_integers, WIDE_CONVERSIONS),
    PassSpec("gpu.module(canonicalize,gpu.func(mem2reg),sccp)", "Variables of a thread are values."),
    PassSpec("check-progress", "A machine that promises less would wait for ever.", check_progress),
    PassSpec(
        "expand-saturating-conversions",
        "A runtime lacks some of OpenCL's.",
        expand_saturating_conversions,
        INTRINSICS,
    ),
    PassSpec("inline-async-copies", "A copy is done when it is asked for.", inline_async_copies, COPIES),
    PassSpec("rename-memory-scopes", "LLVM has names of its own for them.", renaming_scopes(_SCOPES), SCOPED),
    PassSpec("word-atomics", "OpenCL updates whole words.", word_atomics, UPDATES),
    PassSpec(
        "gpu.module(canonicalize,cse,int-range-optimizations,canonicalize,cse)", "Thread numbers have known ranges."
    ),
    PassSpec("expand-tile", "OpenCL has no matrix instructions.", expand_tile, EXPANDED),
    PassSpec("lower-simt", "What a warp does together are functions of sub-groups.", lower_simt, LOWERED),
    PassSpec("lower-threads", "Blocks are rows of work-items.", lower_threads),
    PassSpec("unroll-array-loops", "Private arrays stay in registers.", unroll_array_loops, ARRAYS),
    PassSpec("split-accesses", "SPIR-V has vectors of few lengths.", split_accesses, ACCESSES),
    PassSpec("split-vectors", "LLVM's back end has no vectors of more than 16.", split_vectors),
    PassSpec("expand-math", "The same formulas as everywhere give the same bits.", expand_math, frozenset(FORMULAS)),
    PassSpec("call-math", "OpenCL has functions for the rest.", call_math, CALLED),
    PassSpec("gpu.module(canonicalize,cse,arith-expand)", "Floor and ceiling division have no LLVM instruction."),
    PassSpec("gpu.module(convert-scf-to-cf)", "Checks that end a thread need branches."),
    PassSpec("lower-checks", "A failed check leaves its number.", lower_checks, CHECKS),
    PassSpec("gpu.module(convert-vector-to-llvm)", "Shuffles of elements have LLVM operations."),
    PassSpec("gpu.module(convert-math-to-llvm)", "Counting bits has intrinsics."),
    PassSpec("gpu.module(convert-gpu-to-llvm-spv{use-64bit-index=true})", "Kernels are functions of their own kind."),
    PassSpec(
        "gpu.module(convert-arith-to-llvm,convert-index-to-llvm,convert-ub-to-llvm)", "One dialect away from LLVM."
    ),
    PassSpec("convert-cf-to-llvm", "Branches, too."),
    PassSpec("gpu.module(reconcile-unrealized-casts)", "Indices are integers on both sides of the passes above."),
    PassSpec("annotate-loops", "Hints must be where LLVM looks for them.", annotate_loops),
    PassSpec("hoist-allocas", "Memory that a loop reserves grows in every iteration.", hoist_allocas),
    PassSpec("extract-device-module", "LLVM has no modules in modules.", extract_device_module),
    PassSpec("name-sub-groups", "A sub-group is a warp.", name_sub_groups),
)
"""What sees the kernels."""
