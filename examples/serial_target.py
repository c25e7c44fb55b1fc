"""A target outside the package: kernels run on the CPU, one thread after the other.

The base compiles the host function, which calls our driver for each launch. What threads do together is refused.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

from triptych.diagnostics.check_errors import CHECK_ERRORS, unpack
from triptych.interop.dlpack import CPU_DEVICES
from triptych.ir import bindings
from triptych.ir.builder import ERROR_ATTRIBUTE, FACTS_ATTRIBUTE, Builder
from triptych.ir.errors import LoweringError
from triptych.ir.llvm.loader import load_object
from triptych.ir.llvm.worker import Request, shared_pool
from triptych.ir.location import place_of
from triptych.ir.modules import append_ir, kernels, operation_names, operations_named, text_constant
from triptych.kernel_ir.transforms.divisor_checks import DIVISORS, place_divisor_checks
from triptych.objectstage.codegen import load_host
from triptych.objectstage.launch_code import LaunchRecord
from triptych.objectstage.target import CompileOptions, Target
from triptych.stages import Compiled, Loaded, Lowered, PassSpec

INDICES = ("gpu.block_id", "gpu.thread_id", "gpu.grid_dim", "gpu.block_dim")
HAS = ("builtin.", "arith.", "math.", "scf.", "cf.", "llvm.", "vector.", "ub.", "gpu.module", "gpu.func", "gpu.return")
LAUNCH = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 4)
KERNEL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, *[ctypes.c_size_t] * 6)


def refuse_cooperation(module: Any) -> None:
    """An operation that this machine does not have is an error at the user's line."""
    for name in sorted(operation_names(module)):
        if not name.startswith((*HAS, *INDICES)):
            place = place_of(operations_named(module, name)[0])
            raise LoweringError(f"the target 'serial' has no {name}", span=place, instead="target='cpu'")


def kernels_to_functions(module: Any) -> None:
    """A kernel becomes a function of its arguments and indices for one thread, and loops that call it."""
    ir, builder = bindings.mlir(), Builder(module.context)
    index, text = builder.type("index"), builder.type("!llvm.ptr")
    for kernel in kernels(module):
        place, entry, name = kernel.location, kernel.regions[0].blocks[0], kernel.attributes["sym_name"].value
        types = [argument.type for argument in entry.arguments]
        indices = [entry.add_argument(index, place) for _ in range(12)]
        for op in operations_named(kernel, *INDICES):
            axis = "xyz".index(str(op.attributes["dimension"])[-2])
            op.results[0].replace_all_uses_with(indices[3 * INDICES.index(op.name) + axis])
            op.erase()
        for end in operations_named(kernel, "gpu.return"):
            builder.insertion, builder.location = builder.before(end), place
            builder.operation("func.return", [builder.value("llvm.mlir.zero", (), text)])
            end.erase()
        builder.insertion = builder.at_end(module.body)
        kind = ir.TypeAttr.get(ir.FunctionType.get([*types, *[index] * 12], [text]))
        attributes = {"sym_name": builder.string(f"{name}.thread"), "function_type": kind}
        builder.move_blocks(kernel, builder.operation("func.func", (), (), attributes, regions=1, location=place))
        append_ir(module, launch_loops(name, [str(kind) for kind in types]))
    for device in operations_named(module, "gpu.module"):
        device.erase()


def launch_loops(name: str, types: Sequence[str]) -> str:
    """`name(arguments, failed, sizes)` runs all threads, until one has the text of a failed check for `failed`."""
    signature = f"({', '.join([*types, *['index'] * 12])}) -> !llvm.ptr"
    ids, sizes = (", ".join(f"%{what}{i}" for i in range(6)) for what in ("i", "size"))
    given, loads = ", ".join([*(f"%v{i}" for i in range(len(types))), ids, sizes]), []
    for i, kind in enumerate(types):
        loads += [f"%a{i} = llvm.getelementptr %arguments[{i}] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr"]
        loads += [f"%p{i} = llvm.load %a{i} : !llvm.ptr -> !llvm.ptr", f"%v{i} = llvm.load %p{i} : !llvm.ptr -> {kind}"]
    return f"""
func.func private @"{name}.thread"{signature}
func.func @"{name}"(%arguments: !llvm.ptr, %failed: !llvm.ptr, {sizes.replace(",", ": index,")}: index) {{
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %null = llvm.mlir.zero : !llvm.ptr
  {chr(10).join(loads)}
  scf.parallel ({ids}) = (%zero{", %zero" * 5}) to ({sizes}) step (%one{", %one" * 5}) {{
    %before = llvm.load %failed : !llvm.ptr -> !llvm.ptr
    %fine = llvm.icmp "eq" %before, %null : !llvm.ptr
    scf.if %fine {{
      %text = func.call @"{name}.thread"({given}) : {signature}
      llvm.store %text, %failed : !llvm.ptr, !llvm.ptr
    }}
  }}
  return
}}"""


def lower_checks(module: Any) -> None:
    """A check that fails returns its text: the name of its error, and what the error says."""
    builder = Builder(module.context)
    for number, check in enumerate(operations_named(module, "cf.assert")):
        block, said, place = check.block, check.attributes, check.location
        facts = said[FACTS_ATTRIBUTE if FACTS_ATTRIBUTE in said else "msg"].value
        error = said[ERROR_ATTRIBUTE].value if ERROR_ATTRIBUTE in said else "AssertionFailedError"
        append_ir(module, text_constant(f"check{number}", f"{error}\n{facts}"))
        rest, failed = block.create_after(), block.region.blocks.append()
        operations = [op.operation for op in block.operations]
        for op in operations[operations.index(check) + 1 :]:
            op.detach_from_parent()
            rest.append(op)
        builder.insertion, builder.location = builder.at_end(failed), place
        symbol = {"global_name": builder.attribute(f"@check{number}")}
        builder.operation("func.return", [builder.value("llvm.mlir.addressof", (), "!llvm.ptr", symbol)])
        builder.insertion = builder.at_end(block)
        none = {"operandSegmentSizes": builder.attribute("array<i32: 1, 0, 0>")}
        builder.operation("cf.cond_br", (check.operands[0],), attributes=none, successors=[rest, failed])
        check.erase()


PIPELINE = (
    PassSpec("place-divisor-checks", "A quotient may be left unused.", place_divisor_checks, DIVISORS),
    PassSpec("refuse-cooperation", "A thread that waits for a later one waits forever.", refuse_cooperation),
    PassSpec("kernels-to-functions", "A CPU has no thread numbers: loops count them.", kernels_to_functions),
    PassSpec("canonicalize,cse,arith-expand,convert-scf-to-cf", "LLVM has branches only."),
    PassSpec("lower-checks", "A failed check leaves the kernel.", lower_checks),
    PassSpec("convert-math-to-llvm,convert-math-to-libm,convert-vector-to-llvm", "Intrinsics, or the C library."),
    PassSpec("convert-to-llvm,reconcile-unrealized-casts", "Only LLVM's dialect becomes LLVM IR."),
)


def codegen(lowered: Lowered, options: CompileOptions) -> Compiled:
    """LLVM runs in a worker process, so that what ends it does not end Python."""
    made = shared_pool().compile(Request(opt_level=options.opt_level), lowered.llvm)
    return Compiled(lowered, made.object, lambda: made.assembly)


def load(compiled: Compiled) -> Loaded:
    """The host program calls `launch` for each launch, in the form of `cuLaunchKernelEx`."""
    host = load_host(compiled)
    code = [load_object(compiled.artifact, name, {}) for name in compiled.lowered.kernels]

    def call(*args: Any, stream: object = None) -> Any:
        failed = ctypes.c_char_p()

        def launch(config: int, kernel: int, arguments: int, _: int) -> int:
            KERNEL(kernel)(arguments, ctypes.addressof(failed), *(ctypes.c_uint32 * 6).from_address(config))
            return 1 if failed.value else 0

        driver, addresses = LAUNCH(launch), (ctypes.c_void_p * len(code))(*(kernel.address for kernel in code))
        record = LaunchRecord(ctypes.cast(driver, ctypes.c_void_p), None, ctypes.addressof(addresses))
        result = host.call(*args, ctypes.addressof(record))
        if failed.value:
            error, _, facts = failed.value.decode().partition("\n")
            raise CHECK_ERRORS[error](**unpack(facts))
        return result

    return Loaded(compiled, call)


TARGET = Target(
    "serial", lambda: PIPELINE, str, codegen, load, lambda: None, dict, before_split=tuple, devices=CPU_DEVICES
)
