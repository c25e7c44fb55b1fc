"""Pass `vectorize-kernels`: every kernel of the module becomes a function that runs blocks of it on this CPU."""

from __future__ import annotations

from triptych.ir.handles import Module, Operation
from triptych.ir.modules import append_ir, kernels, symbols
from triptych.kernel_ir.dialects.check import CHECK_STOP, CHECKS_ATTRIBUTE
from triptych.kernel_ir.dialects.kernel_attributes import device_of
from triptych.kernel_ir.dialects.kernel_operations import contains, reaches_other_blocks, traits, walk
from triptych.support.forking import import_late
from triptych.targets.cpu.abi.abi import BLOCK_MEMORY_DECLARATION, KERNEL_WAITING_DECLARATION, TAKE_CLUSTER_DECLARATION
from triptych.targets.cpu.abi.kernel_functions import LAUNCH_REQUEST, POLL_REQUEST, SUSPEND_REQUEST
from triptych.targets.cpu.abi.system import CLOCK
from triptych.targets.cpu.blocks.barrier_regions import NeedsCoroutines
from triptych.targets.cpu.blocks.blocks import BlockFunction
from triptych.targets.cpu.blocks.coroutine import CoroutineKernel
from triptych.targets.cpu.emit.lane_builder import LaneBuilder
from triptych.targets.cpu.emit.umma import TENSOR_MEMORY_USES
from triptych.targets.cpu.emit.values import private_arrays
from triptych.targets.cpu.emit.warp import BlockEnv, Observer

_MANY_BYTES = 48 * 32
"""Kept by the threads of a warp: more than the 32 registers of AVX-512 hold beside their operands."""
_SANITIZER = "triptych.targets.cpu.sanitizer.check_calls"
_REQUESTS = f"""
func.func private @{POLL_REQUEST}()
func.func private @{SUSPEND_REQUEST}()
func.func private @{LAUNCH_REQUEST}() -> !llvm.ptr
func.func private @{CLOCK}(i32, !llvm.ptr) -> i32
{BLOCK_MEMORY_DECLARATION}{KERNEL_WAITING_DECLARATION}{TAKE_CLUSTER_DECLARATION}"""


def vectorize_kernels(module: Module) -> None:
    """Replace the kernels; launches still name them."""
    found = kernels(module)
    if found:
        append_ir(module, _REQUESTS)
    for kernel in found:
        _convert(kernel, module)
    for outer in [symbol for symbol in symbols(module).values() if symbol.name == "gpu.module"]:
        outer.erase()


def _convert(kernel: Operation, module: Module) -> None:
    """Loops over warps between barriers where that is right, warps that wait for each other otherwise."""
    if reaches_other_blocks(kernel) or contains(kernel, TENSOR_MEMORY_USES):
        CoroutineKernel(kernel, module, _observer).build()
        return
    try:
        function = BlockFunction(kernel, module, _width(kernel), _observer)
    except NeedsCoroutines:
        CoroutineKernel(kernel, module, _observer).build()
    else:
        function.build()


def _observer(kernel: Operation, code: LaneBuilder, arrays: BlockEnv) -> Observer:
    """A kernel without checkers is observed by nobody, and the sanitizer is not imported for it."""
    if CHECKS_ATTRIBUTE not in kernel.attributes:
        return Observer()
    made: Observer = import_late(_SANITIZER).CheckCalls(kernel, code)
    return made


def _width(kernel: Operation) -> int:
    """Lanes of a vector: a warp, or half of one where threads keep so much that the machine's registers run out."""
    lanes = device_of(kernel).lanes
    if any(traits(found).is_of_a_warp() or found.name == CHECK_STOP for found in walk(kernel)):
        return lanes
    kept = lanes * sum(array.size for array in private_arrays(kernel).values() if array.by_element)
    return lanes // 2 if kept >= _MANY_BYTES else lanes
