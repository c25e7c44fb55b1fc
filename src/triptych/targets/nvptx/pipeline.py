"""The NVIDIA target's pass list: from traced MLIR to kernels in the LLVM dialect."""

from __future__ import annotations

from triptych.simt.waiting import keep_waiting
from triptych.stages import PassSpec
from triptych.targets.nvptx.allow_contraction import allow_contraction
from triptych.targets.nvptx.architectures import Architecture
from triptych.targets.nvptx.bound_extents import bound_extents
from triptych.targets.nvptx.bound_launches import bound_launches
from triptych.targets.nvptx.check_architecture import checking
from triptych.targets.nvptx.check_inline_ptx import check_inline_ptx
from triptych.targets.nvptx.gather_allocas import gather_allocas
from triptych.targets.nvptx.order_atomics import ordering
from triptych.targets.nvptx.refuse_narrow_floats import refuse_narrow_floats
from triptych.targets.nvptx.select_math import select_math
from triptych.targets.nvptx.share_failures import share_failures
from triptych.targets.nvptx.take_device_code import take_device_code


def pipeline(architecture: Architecture) -> tuple[PassSpec, ...]:
    """The passes for one architecture."""
    return (
        PassSpec("check-architecture", "LLVM would abort on an instruction that is missing.", checking(architecture)),
        PassSpec("check-inline-ptx", "LLVM ends the process for constraints it cannot read.", check_inline_ptx),
        PassSpec("refuse-narrow-floats", "Nothing below computes with them.", refuse_narrow_floats),
        PassSpec("bound-launches", "The threads of a block bound the registers of each.", bound_launches),
        PassSpec("keep-waiting", "A loop that waits for another warp computes nothing, but must not go.", keep_waiting),
        PassSpec("order-atomics", "LLVM forgets the order and the scope of atomic updates.", ordering(architecture)),
        PassSpec("allow-contraction", "GPUs multiply and add in one instruction.", allow_contraction),
        PassSpec(
            "gpu.module(canonicalize,cse,int-range-optimizations,arith-unsigned-when-equivalent,canonicalize,cse)",
            "Thread numbers have known ranges, and unsigned divisions are cheaper.",
        ),
        PassSpec("select-math", "What has an instruction needs no function of libdevice.", select_math),
        PassSpec("gpu.module(arith-expand)", "Floor and ceiling division have no LLVM instruction."),
        PassSpec("gpu.module(convert-scf-to-cf)", "PTX has branches only."),
        PassSpec("gpu.module(convert-vector-to-llvm)", "Shuffles and reductions of elements have LLVM operations."),
        PassSpec(
            "gpu.module(convert-gpu-to-nvvm)",
            "Indices are registers, failed checks call `__assertfail`, mathematics calls libdevice.",
        ),
        PassSpec("gpu.module(convert-nvvm-to-llvm)", "Some instructions exist only as inline PTX."),
        PassSpec("gpu.module(reconcile-unrealized-casts)", "Indices are integers on both sides of the passes above."),
        PassSpec("share-failures", "Calls of `__assertfail` are long.", share_failures),
        PassSpec("gather-allocas", "Memory that a loop reserves grows in every turn.", gather_allocas),
        PassSpec("bound-extents", "Divisions by what is never negative need no corrections.", bound_extents),
        PassSpec("take-device-code", "The host function runs on another machine.", take_device_code),
    )


LINE_TABLES = (
    PassSpec(
        "ensure-debug-info-scope-on-llvm-func{emission-kind=DebugDirectivesOnly}",
        "A line belongs to a function; more debug information would switch optimisations off.",
    ),
)
