"""A target outside the package: kernels run on the CPU, one thread after the other.

It runs kernels only, as a GPU does: the base splits a program, compiles the host function, and calls our driver for
each launch. Threads that run one after the other cannot wait for each other, so what threads do together is refused.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from triptych.diagnostics.check_errors import CHECK_ERRORS
from triptych.diagnostics.check_facts import unpack
from triptych.interop.dlpack import CPU_DEVICES
from triptych.ir import bindings
from triptych.ir.builder import Builder
from triptych.ir.checks import ERROR_ATTRIBUTE, FACTS_ATTRIBUTE
from triptych.ir.errors import LoweringError
from triptych.ir.llvm.loader import load_object
from triptych.ir.llvm.worker import Request, shared_pool
from triptych.ir.location import place_of
from triptych.ir.modules import graft, kernels, operation_names, operations_named, text_constant
from triptych.kernel_ir.transforms.divisor_checks import DIVISORS, place_divisor_checks
from triptych.objectstage.call import load_host
from triptych.objectstage.launch_code import LaunchRecord
from triptych.objectstage.target import CompileOptions, Target
from triptych.stages import Compiled, Loaded, Lowered, PassSpec

INDICES = ("gpu.block_id", "gpu.thread_id", "gpu.grid_dim", "gpu.block_dim")
DIALECTS = ("builtin.", "arith.", "math.", "scf.", "cf.", "llvm.", "vector.", "ub.")
HAS = (*DIALECTS, "gpu.module", "gpu.func", "gpu.return", *INDICES)


def refuse_cooperation(module: Any) -> None:
    """An operation that this machine does not have is an error at the user's line."""
    for name in sorted(operation_names(module)):
        if not name.startswith(HAS):
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
            builder.insertion = ir.InsertionPoint(end)
            builder.operation("func.return", [builder.value("llvm.mlir.zero", (), text, place)], (), place)
            end.erase()
        builder.insertion = ir.InsertionPoint(module.body)
        kind = ir.TypeAttr.get(ir.FunctionType.get([*types, *[index] * 12], [text]))
        attributes = {"sym_name": builder.string(f"{name}.thread"), "function_type": kind}
        builder.move_blocks(kernel, builder.operation("func.func", (), (), place, attributes, regions=1))
        graft(module, launch_loops(name, [str(kind) for kind in types]))
    for device in [op.operation for op in module.body.operations if op.operation.name == "gpu.module"]:
        device.erase()


def launch_loops(name: str, types: Sequence[str]) -> str:
    """`name(arguments, sizes)` runs all threads until one returns the text of a failed check."""
    signature = f"({', '.join([*types, *['index'] * 12])}) -> !llvm.ptr"
    ids, sizes, zeros, ones = (", ".join(f"%{what}{i}" for i in range(6)) for what in ("i", "size", "zero", "one"))
    given = ", ".join([*(f"%v{i}" for i in range(len(types))), ids, sizes])
    loads = [f"%zero{i} = arith.constant 0 : index\n%one{i} = arith.constant 1 : index" for i in range(6)]
    for i, kind in enumerate(types):
        loads += [f"%a{i} = llvm.getelementptr %arguments[{i}] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr"]
        loads += [f"%p{i} = llvm.load %a{i} : !llvm.ptr -> !llvm.ptr", f"%v{i} = llvm.load %p{i} : !llvm.ptr -> {kind}"]
    return f"""
func.func private @"{name}.thread"{signature}
func.func @"{name}"(%arguments: !llvm.ptr, {sizes.replace(",", ": index,")}: index) -> !llvm.ptr {{
  %null = llvm.mlir.zero : !llvm.ptr
  %single = arith.constant 1 : i32
  %failed = llvm.alloca %single x !llvm.ptr : (i32) -> !llvm.ptr
  llvm.store %null, %failed : !llvm.ptr, !llvm.ptr
  {chr(10).join(loads)}
  scf.parallel ({ids}) = ({zeros}) to ({sizes}) step ({ones}) {{
    %before = llvm.load %failed : !llvm.ptr -> !llvm.ptr
    %fine = llvm.icmp "eq" %before, %null : !llvm.ptr
    scf.if %fine {{
      %text = func.call @"{name}.thread"({given}) : {signature}
      llvm.store %text, %failed : !llvm.ptr, !llvm.ptr
    }}
  }}
  %text = llvm.load %failed : !llvm.ptr -> !llvm.ptr
  return %text : !llvm.ptr
}}"""


def lower_checks(module: Any) -> None:
    """A check that fails returns its text: the name of its error, and what the error says."""
    ir, builder = bindings.mlir(), Builder(module.context)
    for number, check in enumerate(operations_named(module, "cf.assert")):
        block, said, place = check.block, check.attributes, check.location
        facts = said[FACTS_ATTRIBUTE if FACTS_ATTRIBUTE in said else "msg"].value
        error = said[ERROR_ATTRIBUTE].value if ERROR_ATTRIBUTE in said else "AssertionFailedError"
        graft(module, text_constant(f"check{number}", f"{error}\n{facts}"))
        rest, failed = block.create_after(), block.region.blocks.append()
        operations = [op.operation for op in block.operations]
        for op in operations[operations.index(check) + 1 :]:
            op.detach_from_parent()
            rest.append(op)
        builder.insertion = builder.at_end(failed)
        symbol = {"global_name": builder.attribute(f"@check{number}")}
        found = builder.value("llvm.mlir.addressof", (), builder.type("!llvm.ptr"), place, symbol)
        builder.operation("func.return", [found], (), place)
        with builder.at_end(block), place:
            none = {"operandSegmentSizes": builder.attribute("array<i32: 1, 0, 0>")}
            ir.Operation.create("cf.cond_br", operands=[check.operands[0]], successors=[rest, failed], attributes=none)
        check.erase()


PIPELINE = (
    PassSpec("refuse-cooperation", "A thread that waits for a later one waits forever.", refuse_cooperation),
    PassSpec("kernels-to-functions", "A CPU has no thread numbers: loops count them.", kernels_to_functions),
    PassSpec("canonicalize,cse,arith-expand,convert-scf-to-cf", "LLVM has branches only."),
    PassSpec("lower-checks", "A failed check leaves the kernel.", lower_checks),
    PassSpec("convert-math-to-llvm,convert-math-to-libm", "Intrinsics, or functions of the C library."),
    PassSpec("convert-vector-to-llvm,convert-to-llvm,reconcile-unrealized-casts", "Only this becomes LLVM IR."),
)
BEFORE_SPLIT = (PassSpec("place-divisor-checks", "A quotient may be unused.", place_divisor_checks, DIVISORS),)


def codegen(lowered: Lowered, options: CompileOptions) -> Compiled:
    """LLVM runs in a worker process, so that what ends it does not end Python."""
    made = shared_pool().compile(Request(opt_level=options.opt_level), lowered.llvm)
    return Compiled(lowered, made.object, lambda: made.assembly)


LAUNCH = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 4)
KERNEL = ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_void_p, *[ctypes.c_size_t] * 6)


def load(compiled: Compiled) -> Loaded:
    """The host program calls `launch` for each launch, in the form of `cuLaunchKernelEx`."""
    names = compiled.lowered.kernels

    @cache
    def program() -> tuple[Loaded, Any, Any]:
        code = load_object(compiled.artifact, names[0], {}, *names[1:])
        return load_host(compiled), code, (ctypes.c_void_p * len(names))(*(code.library[name] for name in names))

    def call(*args: Any, stream: object = None) -> Any:
        texts: list[bytes] = []

        def launch(config: int, kernel: int, arguments: int, _: int) -> int:
            sizes = (ctypes.c_uint32 * 6).from_address(config)
            texts.extend(filter(None, [KERNEL(kernel)(arguments, *sizes)]))
            return len(texts)

        host, _, addresses = program()
        driver = LAUNCH(launch)
        record = LaunchRecord(ctypes.cast(driver, ctypes.c_void_p), None, ctypes.addressof(addresses))
        result = host.call(*args, ctypes.addressof(record))
        for text in texts:
            error, _, facts = text.decode().partition("\n")
            raise CHECK_ERRORS[error](**unpack(facts))
        return result

    return Loaded(compiled, call)


TARGET = Target(
    "serial",
    lambda: PIPELINE,
    lambda name: name,
    codegen,
    load,
    start=shared_pool().start,
    info=lambda: {"serial": "1"},
)
TARGET = replace(TARGET, before_split=lambda: BEFORE_SPLIT, devices=CPU_DEVICES)
