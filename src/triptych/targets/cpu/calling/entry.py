"""Pass `write-entry`: the packed entry point `__tvm_ffi_<name>` that Python calls.

Input: a module of the LLVM dialect whose function returns `(status, results...)`. The entry point checks the number,
types and ranges of the arguments as compiled code, calls the function, and packs what it returns. It is written as
MLIR text, which reads better than the code that would build it.
"""

from __future__ import annotations

from triptych.ir import bindings
from triptych.ir.handles import Module, Type
from triptych.ir.modules import (
    Signature,
    append_ir,
    detach_signature,
    function,
    leaves_text,
    signature_of,
    text_constant,
)
from triptych.ir.types import GENERIC_SPACE, is_integer, is_pointer, memory_space, type_text
from triptych.targets.cpu.abi.abi import FORMATS, QUIET, REFUSE, REFUSE_COUNT, REFUSE_TENSORS, UNFIT, entry_symbol
from triptych.targets.cpu.calling.calling_python import FAILURE, RAISE_TEXT, raising_call, raising_function
from triptych.targets.cpu.calling.entry_arguments import (
    BIG_INT_DECLARATION,
    CONSTANTS,
    LIKELY,
    TensorReader,
    check_memory,
    read_argument,
)
from triptych.targets.cpu.calling.entry_results import pack_results, result_texts
from triptych.targets.cpu.calling.scalars import BoundaryScalar, scalar_of

_REFUSALS = "".join(raising_function(name, FORMATS[name]) for name in (REFUSE, REFUSE_COUNT, REFUSE_TENSORS))
_DECLARATIONS = RAISE_TEXT + _REFUSALS + BIG_INT_DECLARATION


def check_signature(module: Module) -> None:
    """Refuse types that cannot cross before any pass runs."""
    signature = signature_of(module)
    for leaf in signature.parameters:
        if leaf.memory is None:
            scalar_of(leaf, "parameter")
        else:
            check_memory(leaf)
    for leaf in signature.results:
        scalar_of(leaf, "result")


def write_entry(module: Module) -> None:
    """Add the entry point and make everything else internal, so that LLVM may inline and drop it."""
    signature = signature_of(module)
    detach_signature(module)
    body = f"{signature.name}.body"
    _internalise(module, signature.name, body)
    kinds = [argument.type for argument in function(module, body).regions[0].blocks[0].arguments]
    append_ir(module, _entry_text(signature, body, kinds))


def _internalise(module: Module, name: str, body: str) -> None:
    """Rename the function too: a user's `pow` or `malloc` must not meet the C library's."""
    ir = bindings.mlir()
    with module.context:
        function(module, name).attributes["sym_name"] = ir.StringAttr.get(body)
        internal = ir.Attribute.parse("#llvm.linkage<internal>")
        for operation in module.body.operations:
            if operation.name == "llvm.func" and len(operation.regions[0].blocks):
                operation.attributes["linkage"] = internal


def _entry_text(signature: Signature, body: str, kinds: list[Type]) -> str:
    results = [scalar_of(leaf, "result") for leaf in signature.results]
    tensors = TensorReader()
    reads, values = [], []
    for i, leaf in enumerate(signature.parameters):
        if leaf.memory is None:
            reads.append(read_argument(i, leaf, scalar_of(leaf, "parameter")))
            values.append(f"%value{i}")
        else:
            reads.append(tensors.read(i, leaf, leaf.memory))
            values += tensors.received(i)
    count = len(signature.parameters)
    return f"""
{_DECLARATIONS}{result_texts(results)}{_texts(signature)}{_declaration(body, kinds, results)}
llvm.func @"{entry_symbol(signature.name)}"(
    %self: !llvm.ptr, %arguments: !llvm.ptr, %given: i32, %result: !llvm.ptr) -> i32 {{
  %zero = llvm.mlir.constant(0 : i32) : i32
  %failure = llvm.mlir.constant({FAILURE} : i32) : i32
  %wanted = llvm.mlir.constant({count} : i32) : i32
{CONSTANTS}
  %counted = llvm.icmp "eq" %given, %wanted : i32
  llvm.cond_br %counted {LIKELY}, ^argument0, ^miscounted
^miscounted:
  %name = llvm.mlir.addressof @triptych.name : !llvm.ptr
  %given_count = llvm.sext %given : i32 to i64
  %wanted_count = llvm.sext %wanted : i32 to i64
{raising_call(REFUSE_COUNT, ("%given_count", "%wanted_count", "%name*"))}
  llvm.br ^failed
^refused(%any: !llvm.ptr, %dtype: !llvm.ptr, %path: !llvm.ptr):
{raising_call(REFUSE, ("%any*", "%dtype*", "%path*"))}
  llvm.br ^failed
^failed:
  llvm.return %failure : i32
{_UNFIT if tensors.has_read else ""}
{"".join(reads)}
^argument{count}:
{tensors.related("^call")}
^call:
{_passed(values, kinds)}
{_call(body, kinds, results)}
^pack:
{pack_results(results)}
}}
"""


_UNFIT = f"""
^unfit:
  %mode = llvm.ptrtoint %self : !llvm.ptr to i64
  %quiet = llvm.mlir.constant({QUIET} : i64) : i64
  %is_quiet = llvm.icmp "eq" %mode, %quiet : i64
  llvm.cond_br %is_quiet, ^untold, ^told
^told:
  %signature = llvm.mlir.addressof @triptych.signature : !llvm.ptr
{raising_call(REFUSE_TENSORS, ("%arguments*", "%signature*"))}
  llvm.br ^failed
^untold:
  %unfit = llvm.mlir.constant({UNFIT} : i32) : i32
  llvm.return %unfit : i32
"""


def _texts(signature: Signature) -> str:
    texts = {"triptych.name": signature.name}
    for i, leaf in enumerate(signature.parameters):
        if leaf.memory is None:
            texts[f"triptych.path{i}"] = leaf.path
            texts[f"triptych.dtype.{leaf.dtype}"] = leaf.dtype
        else:
            texts["triptych.signature"] = leaves_text(signature.parameters)
    return "".join(text_constant(name, text) for name, text in texts.items())


def _returned(results: list[BoundaryScalar]) -> str:
    """The function's result type: MLIR packs several results in a struct."""
    return "i32" if not results else f"!llvm.struct<(i32, {', '.join(scalar.mlir for scalar in results)})>"


def _declaration(body: str, kinds: list[Type], results: list[BoundaryScalar]) -> str:
    return f'llvm.func @"{body}"({", ".join(map(type_text, kinds))}) -> {_returned(results)}\n'


def _passed(values: list[str], kinds: list[Type]) -> str:
    """What was read, in the types that the function takes: pointers may have a space, unknowns are read as 64 bits."""
    return "\n".join(
        f"  %passed{i} = {_conversion(value, kind)}" for i, (value, kind) in enumerate(zip(values, kinds, strict=True))
    )


def _conversion(value: str, kind: Type) -> str:
    text = type_text(kind)
    if value.startswith("%value") or is_integer(kind, 64) or memory_space(kind) == GENERIC_SPACE:
        return f"llvm.bitcast {value} : {text} to {text}"
    if is_pointer(kind):
        return f"llvm.addrspacecast {value} : !llvm.ptr to {text}"
    return f"llvm.trunc {value} : i64 to {text}"


def _call(body: str, kinds: list[Type], results: list[BoundaryScalar]) -> str:
    values = ", ".join(f"%passed{i}" for i in range(len(kinds)))
    returned = _returned(results)
    names = ["status", *(f"result{i}" for i in range(len(results)))]
    parts = [f"  %{name} = llvm.extractvalue %returned[{i}] : {returned}" for i, name in enumerate(names)]
    return "\n".join(
        [
            f'  %returned = llvm.call @"{body}"({values}) : ({", ".join(map(type_text, kinds))}) -> {returned}',
            *(parts if results else ["  %status = llvm.bitcast %returned : i32 to i32"]),
            '  %succeeded = llvm.icmp "eq" %status, %zero : i32',
            f"  llvm.cond_br %succeeded {LIKELY}, ^pack, ^failed",
        ]
    )
