"""The CPU target's pass list: from traced MLIR to the LLVM dialect with an entry point for Python."""

from __future__ import annotations

from triptych.simt.loop_hints import annotate_loops, hint_loops
from triptych.simt.signs import SIGNED_EXTENSIONS, mark_signs
from triptych.simt.waiting import LOOPS, keep_waiting
from triptych.simt.wide_conversions import WIDE_CONVERSIONS, convert_wide_integers
from triptych.stages import PassSpec
from triptych.targets.cpu.check_launch import check_launch
from triptych.targets.cpu.copy_at_once import COPIES, copy_at_once
from triptych.targets.cpu.entry import check_signature, write_entry
from triptych.targets.cpu.host_arrays import ARRAYS, allocate_host_arrays, free_host_arrays
from triptych.targets.cpu.launching import lower_launch
from triptych.targets.cpu.libm_calls import INEXACT, call_libm
from triptych.targets.cpu.lower_assert import lower_assert
from triptych.targets.cpu.lower_print import lower_print
from triptych.targets.cpu.lower_waits import lower_waits, mark_presplit
from triptych.targets.cpu.narrow_floats import expand_narrow_floats
from triptych.targets.cpu.order_accesses import ACCESSES, order_accesses
from triptych.targets.cpu.outline_warps import outline_warps
from triptych.targets.cpu.poll_loops import LOOPS as LOOPS_OF_HOSTS
from triptych.targets.cpu.poll_loops import poll_loops
from triptych.targets.cpu.simt.convert import vectorise_kernels
from triptych.targets.cpu.vector_math import vectorise_math

PIPELINE = (
    PassSpec("check-signature", "Refuse a type that cannot cross to Python before any work is done.", check_signature),
    PassSpec("check-launch", "Refuse launches whose blocks would have to run at the same time.", check_launch),
    PassSpec(
        "expand-narrow-floats", "The machine computes in 32 bits and more, and rounds here.", expand_narrow_floats
    ),
    PassSpec(
        "convert-wide-integers",
        "LLVM would call functions that C programs link.",
        convert_wide_integers,
        WIDE_CONVERSIONS,
    ),
    PassSpec(
        "keep-waiting", "A loop that waits for another warp computes nothing, but must not go.", keep_waiting, LOOPS
    ),
    PassSpec("copy-at-once", "A CPU copies when it is asked to.", copy_at_once, COPIES),
    PassSpec("order-accesses", "Other threads see ordered accesses in their order.", order_accesses, ACCESSES),
    PassSpec("mark-signs", "Unsigned numbers wrap around at zero.", mark_signs, SIGNED_EXTENSIONS),
    PassSpec(
        "gpu.module(canonicalize,gpu.func(mem2reg),sccp)",
        "What every thread counts alike in variables of its own is one number for the warp.",
    ),
    PassSpec(
        "gpu.module(canonicalize,cse,int-range-optimizations,arith-unsigned-when-equivalent,canonicalize,cse)",
        "Thread numbers have known ranges: with them most index arithmetic becomes simple enough to analyse.",
    ),
    PassSpec("vectorise-kernels", "A warp is a vector, and a block a loop over warps.", vectorise_kernels),
    PassSpec("vectorise-math", "A call of the C library for each lane takes 14 times as long.", vectorise_math),
    PassSpec("allocate-host-arrays", "The stack of whoever calls may be small.", allocate_host_arrays, ARRAYS),
    PassSpec("lower-launch", "A launch is a call of the pool of threads, which runs the blocks.", lower_launch),
    PassSpec("lower-print", "Printing goes through Python's own standard output.", lower_print),
    PassSpec("poll-loops", "Ctrl-C ends a host function that would not end by itself.", poll_loops, LOOPS_OF_HOSTS),
    PassSpec("outline-warps", "LLVM takes quadratic time for a function of many loops.", outline_warps),
    PassSpec("arith-expand", "Floor and ceiling division have no LLVM instruction."),
    PassSpec("hint-loops", "Programs may say how a loop is to be written.", hint_loops),
    PassSpec("convert-scf-to-cf", "Checks that leave the function need a flat control-flow graph."),
    PassSpec("lower-assert", "A failed check returns a status that the entry point turns into an error.", lower_assert),
    PassSpec(
        "free-host-arrays",
        "Every way out of a function is a return by now.",
        free_host_arrays,
        frozenset({"llvm.call"}),
    ),
    PassSpec("call-libm", "Upstream's formulas for expm1 and log1p lose every digit near zero.", call_libm, INEXACT),
    PassSpec("lower-waits", "Warps that wait for each other are coroutines.", lower_waits),
    PassSpec("convert-math-to-llvm", "LLVM's own intrinsics first: they vectorise and fold."),
    PassSpec("convert-math-to-libm", "What has no intrinsic calls the C mathematics library."),
    PassSpec("convert-vector-to-llvm", "Shuffles and reductions of lanes have LLVM operations."),
    PassSpec("convert-to-llvm", "Everything that is left is one dialect away from LLVM."),
    PassSpec("reconcile-unrealized-casts", "Indices of lanes are integers on both sides of the two passes above."),
    PassSpec("annotate-loops", "Hints must be where LLVM looks for them.", annotate_loops),
    PassSpec("mark-coroutines", "LLVM splits a coroutine where it suspends.", mark_presplit),
    PassSpec("write-entry", "Python calls one packed entry point that checks its arguments.", write_entry),
)
