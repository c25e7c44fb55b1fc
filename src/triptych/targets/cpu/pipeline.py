"""The CPU target's pass list: from traced MLIR to the LLVM dialect with an entry point for Python."""

from __future__ import annotations

from collections.abc import Callable

from triptych.ir.handles import Module
from triptych.kernel_ir.analysis.addresses import SIGNED_EXTENSIONS, mark_signed_extensions
from triptych.kernel_ir.dialects.check import CHECK_ACCESS
from triptych.kernel_ir.dialects.tile import MMA, WGMMA_STEPS
from triptych.kernel_ir.transforms.divisor_checks import DIVISORS, place_divisor_checks
from triptych.kernel_ir.transforms.fuse_mma_k_loop import fuse_mma_k_loop
from triptych.kernel_ir.transforms.fuse_wgmma_k_loop import FUSED, fuse_wgmma_k_loop
from triptych.kernel_ir.transforms.inline_async_copies import COPIES, inline_async_copies
from triptych.kernel_ir.transforms.loop_passes import COUNTED, LOOPS, annotate_loops, hint_loops, preserve_spin_loops
from triptych.kernel_ir.transforms.memory_order import ACCESSES, lower_memory_order
from triptych.kernel_ir.transforms.narrow_floats.bfloat16_bits import move_bfloat16_as_bits
from triptych.kernel_ir.transforms.wide_conversions import WIDE_CONVERSIONS, convert_wide_integers
from triptych.sanitizer.checkers import ASYNC, BARRIER_STATISTICS, BOUNDS, GLOBAL, INIT, RACES, checkers
from triptych.stages import PassSpec
from triptych.support.forking import import_late
from triptych.targets.cpu.blocks.vectorize_kernels import vectorize_kernels
from triptych.targets.cpu.calling.entry import check_signature, write_entry
from triptych.targets.cpu.debugger.lower_stops import STOPS, lower_stops
from triptych.targets.cpu.emit.launch_control import RESPONSES, lower_launch_responses
from triptych.targets.cpu.passes.host_arrays import ARRAYS, allocate_host_arrays, free_host_arrays
from triptych.targets.cpu.passes.lower_assert import lower_assert
from triptych.targets.cpu.passes.lower_coroutines import lower_coroutines, mark_presplit
from triptych.targets.cpu.passes.lower_launch import check_launch, lower_launch
from triptych.targets.cpu.passes.lower_math import INEXACT, call_libm, vectorize_math
from triptych.targets.cpu.passes.lower_print import PRINTS, lower_print
from triptych.targets.cpu.passes.lower_tensor_maps import MAPS, lower_tensor_maps
from triptych.targets.cpu.passes.narrow_floats import expand_narrow_floats
from triptych.targets.cpu.passes.outline_warps import outline_warps
from triptych.targets.cpu.passes.poll_loops import LOOPS as LOOPS_OF_HOSTS
from triptych.targets.cpu.passes.poll_loops import poll_loops
from triptych.targets.cpu.passes.prefetch_tiles import prefetch_tiles

_NOTHING: frozenset[str] = frozenset()
"""No operation that a pass behind looks for, beyond those that were there before."""
_CHECKS, _CALLS = frozenset({"cf.assert"}), frozenset({"llvm.call"})
_WARPS = ARRAYS | LOOPS_OF_HOSTS | _CALLS
"""What warps become that threads were not: loops, and memory of blocks."""
_OF_MEMORY = (RACES, ASYNC, INIT, GLOBAL, BARRIER_STATISTICS)


def _checking(function: str, *words: str) -> Callable[[Module], bool | None]:
    """A pass of the sanitizer, by module and name: builds without these checkers do not import it."""

    def run(module: Module) -> bool | None:
        if checkers().isdisjoint(words):
            return False
        file, _, name = function.partition(".")
        changed: bool | None = getattr(import_late(f"triptych.targets.cpu.sanitizer.{file}"), name)(module)
        return changed

    return run


PIPELINE = (
    PassSpec(
        "check-signature",
        "Refuse a type that cannot cross to Python before any work is done.",
        check_signature,
        adds=_NOTHING,
    ),
    PassSpec("place-divisor-checks", "A quotient by zero may be left unused.", place_divisor_checks, DIVISORS, _CHECKS),
    PassSpec("check-launch", "No machine runs more than 16 blocks of a cluster together.", check_launch, adds=_NOTHING),
    PassSpec(
        "lower-launch-responses",
        "A CPU writes an answer in words.",
        lower_launch_responses,
        RESPONSES,
        ACCESSES,
    ),
    PassSpec(
        "instrument-checks",
        "A missing barrier shows in no result of this machine.",
        _checking("instrument_checks.instrument_checks", *_OF_MEMORY),
    ),
    PassSpec(
        "check-wgmma-registers",
        "Checking builds tell of products whose registers others touch.",
        _checking("check_wgmma_registers.check_wgmma_registers", RACES, ASYNC),
        frozenset(WGMMA_STEPS),
    ),
    PassSpec(
        "expand-narrow-floats",
        "The machine computes in 32 bits and more, and rounds here.",
        expand_narrow_floats,
        adds=_NOTHING,
    ),
    PassSpec("move-bfloat16-as-bits", "LLVM takes vectors of BFloat16 apart.", move_bfloat16_as_bits, adds=_NOTHING),
    PassSpec(
        "convert-wide-integers",
        "LLVM would call functions that C programs link.",
        convert_wide_integers,
        WIDE_CONVERSIONS,
        _NOTHING,
    ),
    PassSpec(
        "preserve-spin-loops",
        "A loop that waits for a warp computes nothing, but must not go.",
        preserve_spin_loops,
        LOOPS,
        _NOTHING,
    ),
    PassSpec(
        "inline-async-copies",
        "A CPU copies when it is asked to.",
        inline_async_copies,
        COPIES,
        ACCESSES | LOOPS_OF_HOSTS,
    ),
    PassSpec(
        "lower-tensor-maps",
        "What a map says of a tensor is for copies to read.",
        lower_tensor_maps,
        MAPS,
        ACCESSES | ARRAYS | SIGNED_EXTENSIONS,
    ),
    PassSpec(
        "lower-memory-order",
        "Other threads see ordered accesses in their order.",
        lower_memory_order,
        ACCESSES,
        _NOTHING,
    ),
    PassSpec(
        "mark-signed-extensions",
        "Unsigned numbers wrap at zero.",
        mark_signed_extensions,
        SIGNED_EXTENSIONS,
        _NOTHING,
    ),
    PassSpec(
        "simplify-bounds",
        "What ranges of indices tell need not be asked.",
        _checking("eliminate_checks.simplify_bounds", BOUNDS),
        frozenset({"cf.assert"}),
    ),
    PassSpec(
        "gpu.module(canonicalize,gpu.func(mem2reg),sccp)",
        "What every thread counts alike in variables of its own is one number for the warp.",
        adds=_NOTHING,
    ),
    PassSpec(
        "gpu.module(canonicalize,cse,int-range-optimizations,arith-unsigned-when-equivalent,canonicalize,cse)",
        "Thread numbers have known ranges: with them most index arithmetic becomes simple enough to analyse.",
        adds=_NOTHING,
    ),
    PassSpec(
        "drop-repeated-checks",
        "What was checked need not be checked again.",
        _checking("eliminate_checks.drop_repeated_checks", BOUNDS),
        frozenset({"cf.assert"}),
    ),
    PassSpec(
        "hoist-loop-checks",
        "A loop that reads is recorded once.",
        _checking("eliminate_checks.hoist_loop_checks", *_OF_MEMORY),
        frozenset({CHECK_ACCESS}),
    ),
    PassSpec(
        "prefetch-tiles", "A copy takes as long as memory does.", prefetch_tiles, frozenset({"scf.for"}), _NOTHING
    ),
    PassSpec(
        "fuse-wgmma-k-loop",
        "A product loads and stores its sums once, however deep it is.",
        fuse_wgmma_k_loop,
        FUSED,
        _NOTHING,
    ),
    PassSpec(
        "fuse-mma-k-loop",
        "A warp's product loads and stores its sums once for several slices of k.",
        fuse_mma_k_loop,
        frozenset({MMA}),
        _NOTHING,
    ),
    PassSpec("vectorize-kernels", "A warp is a vector, and a block a loop over warps.", vectorize_kernels, adds=_WARPS),
    PassSpec(
        "vectorize-math",
        "A call of the C library for each lane takes 14 times as long.",
        vectorize_math,
        adds=_NOTHING,
    ),
    PassSpec("allocate-host-arrays", "The stack of whoever calls may be small.", allocate_host_arrays, ARRAYS, _CALLS),
    PassSpec(
        "lower-launch",
        "A launch is a call of the pool of threads, which runs the blocks.",
        lower_launch,
        adds=_CALLS,
    ),
    PassSpec("lower-print", "Printing goes through Python's own standard output.", lower_print, PRINTS, _CALLS),
    PassSpec("lower-stops", "A thread that stops for a debugger calls Python.", lower_stops, STOPS, _CALLS),
    PassSpec(
        "poll-loops",
        "Ctrl-C ends a host function that would not end by itself.",
        poll_loops,
        LOOPS_OF_HOSTS,
        COUNTED | _CALLS,
    ),
    PassSpec("outline-warps", "LLVM takes quadratic time for a function of many loops.", outline_warps, adds=_NOTHING),
    PassSpec("hint-loops", "Programs may say how a loop is to be written.", hint_loops, COUNTED, _NOTHING),
    PassSpec("arith-expand", "Floor and ceiling division have no LLVM instruction.", adds=_NOTHING),
    PassSpec("convert-scf-to-cf", "Checks that leave the function need a flat control-flow graph.", adds=_NOTHING),
    PassSpec(
        "lower-assert",
        "A failed check returns a status that the entry point turns into an error.",
        lower_assert,
        adds=_CALLS,
    ),
    PassSpec("free-host-arrays", "Every way out of a function is a return by now.", free_host_arrays, _CALLS, _NOTHING),
    PassSpec("call-libm", "Upstream's formulas for expm1 and log1p lose every digit near zero.", call_libm, INEXACT),
    PassSpec("lower-coroutines", "Warps that wait for each other are coroutines.", lower_coroutines),
    PassSpec("convert-math-to-llvm", "LLVM's own intrinsics first: they vectorise and fold."),
    PassSpec("convert-math-to-libm", "What has no intrinsic calls the C mathematics library."),
    PassSpec("convert-vector-to-llvm", "Shuffles and reductions of lanes have LLVM operations."),
    PassSpec("convert-to-llvm", "Everything that is left is one dialect away from LLVM."),
    PassSpec("reconcile-unrealized-casts", "Indices of lanes are integers on both sides of the two passes above."),
    PassSpec("annotate-loops", "Hints must be where LLVM looks for them.", annotate_loops),
    PassSpec("mark-presplit", "LLVM splits a coroutine where it suspends.", mark_presplit),
    PassSpec("write-entry", "Python calls one packed entry point that checks its arguments.", write_entry),
)
