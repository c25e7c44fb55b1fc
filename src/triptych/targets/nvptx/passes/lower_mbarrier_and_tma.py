"""Passes `lower-mbarrier-and-tma`, `take-tensor-maps`, `pass-tensor-maps`: mbarriers, TMA and clusters.

Input: kernels of any machine. Output: intrinsics of LLVM, by their names because MLIR knows them from a newer LLVM than
the one that generates code; and inline PTX for copies, whose names differ between the two and whose addresses in shared
memory would be made generic first. A wait is a loop around the instruction that waits for a while: LLVM keeps it, since
nothing is known of what the intrinsic does to memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from triptych.ir import bindings
from triptych.ir.errors import LoweringError
from triptych.ir.handles import Attribute, Module, Operation, Value
from triptych.ir.launch import MAPS, launches
from triptych.ir.location import place_of
from triptych.ir.modules import kernels, operations_named
from triptych.ir.passes import Replacement, Rule, replace_each
from triptych.ir.types import CLUSTER_SPACE, SHARED_SPACE, memory_space, pointer_to, type_text
from triptych.kernel_ir.dialects import simt
from triptych.kernel_ir.dialects.tile import (
    CACHE_POLICY,
    CLC_QUERY,
    CLC_TRY_CANCEL,
    CTA_PAIR,
    TENSOR_MAP_ARGUMENT,
    TENSOR_MAP_BYTES,
    TENSORMAP_ACQUIRE,
    TENSORMAP_CP_FENCEPROXY,
    TENSORMAP_PREFETCH,
    TENSORMAP_RELEASE,
    TENSORMAP_REPLACE,
    TMA_LOAD,
    TMA_PREFETCH,
    TMA_STORE,
)
from triptych.targets.nvptx.description.architectures import Architecture


# NVVM intrinsics and inline PTX that the rules of passes build.
def intrinsic(op: Replacement, name: str, operands: Sequence[Value], result: str | None = None) -> Value | None:
    """Call an intrinsic function of LLVM for NVIDIA's GPUs; what it gives, if it gives something."""
    attributes = op.builder.call_attributes(len(operands), intrin=op.builder.string(f"llvm.nvvm.{name}"))
    if result is None:
        op.effect("llvm.call_intrinsic", operands, attributes)
        return None
    return op.value("llvm.call_intrinsic", operands, result, attributes)


def inline_ptx(
    op: Replacement, text: str, constraints: str, operands: Sequence[Value], result: str | None = None
) -> Value | None:
    """Inline PTX that may change any memory; what it gives, if it gives something."""
    attributes = {
        "asm_string": op.builder.string(text),
        "constraints": op.builder.string(",".join(filter(None, (constraints, "~{memory}")))),
        "has_side_effects": op.attribute("unit"),
    }
    if result is None:
        op.effect("llvm.inline_asm", operands, attributes)
        return None
    return op.value("llvm.inline_asm", operands, result, attributes)


# TMA copies and their tensor maps as inline PTX, a part of pass `lower-mbarrier-and-tma`.
#
# A map is 128 bytes at a generic address. Addresses of shared memory have 32 bits; those of the block itself are also
# addresses of its cluster, so that the form for clusters serves loads of both kinds, and of every version of PTX. For
# sm_120 the assembler makes a call of it, for which it ignores `setmaxnreg`: there a load into the block says so.
# copies ---------------------------------------------------------------------------------------------------------------
_LOAD = "cp.async.bulk.tensor.{rank}d.shared::{scope}.global.mbarrier::complete_tx::bytes"
_OWN_SINCE = 120
_STORE = "cp.async.bulk.tensor.{rank}d.global.shared::cta.bulk_group"
_REDUCE = "cp.reduce.async.bulk.tensor.{rank}d.global.shared::cta.{kind}.bulk_group"
_PREFETCH = "cp.async.bulk.prefetch.tensor.{rank}d.L2.global"


class _Copy:
    """One instruction: its name with what is added to it, and its operands."""

    def __init__(self, op: Replacement, name: str) -> None:
        self._op, self._name = op, name
        self._written: list[str] = []
        self._operands: list[Value] = []
        self._letters: list[str] = []

    def address(self, pointer: Value) -> None:
        """Of shared memory."""
        self._written.append(f"[{self._operand(pointer, 'r')}]")

    def box(self, tensor_map: Value, coordinates: Sequence[Value]) -> None:
        first = self._operand(tensor_map, "l")
        self._written.append(f"[{first}, {{{', '.join(self._operand(each, 'r') for each in coordinates)}}}]")

    def word(self, word: str) -> None:
        """A further word."""
        self._name += word

    def option(self, word: str, value: Value, letter: str) -> None:
        """A further word, and the operand that comes with it."""
        self.word(word)
        self._written.append(self._operand(value, letter))

    def write(self) -> list[Value]:
        """With the policy for caches, which is the last operand of all forms."""
        attributes = self._op.operation.attributes
        if CACHE_POLICY in attributes:
            self.option(".L2::cache_hint", self._op.integer("i64", attributes[CACHE_POLICY].value), "l")
        text = f"{self._name} {', '.join(self._written)};"
        inline_ptx(self._op, text, ",".join(self._letters), self._operands)
        return []

    def _operand(self, value: Value, letter: str) -> str:
        self._operands.append(value)
        self._letters.append(letter)
        return f"${len(self._operands) - 1}"


def _load(op: Replacement, generation: int = 0) -> list[Value]:
    tensor_map, shared, barrier, blocks, *coordinates = op.operands
    pair, multicast = CTA_PAIR in op.operation.attributes, bool(op.operation.attributes["multicast"].value)
    is_own = generation >= _OWN_SINCE and not pair and not multicast
    copy = _Copy(op, _LOAD.format(rank=len(coordinates), scope="cta" if is_own else "cluster"))
    copy.address(shared)
    copy.box(tensor_map, coordinates)
    copy.address(_at_first_of_pair(op, barrier) if pair else barrier)
    if multicast:
        copy.option(".multicast::cluster", op.value("arith.trunci", (blocks,), "i16"), "h")
    if pair:
        copy.word(".cta_group::2")
    return copy.write()


_FIRST_OF_PAIR = ~(1 << 24)
"""The bit of an address of shared memory that tells the blocks of a pair apart."""


def _at_first_of_pair(op: Replacement, barrier: Value) -> Value:
    address = op.value("llvm.ptrtoint", (barrier,), "i32")
    there = op.value("arith.andi", (address, op.integer("i32", _FIRST_OF_PAIR)), "i32")
    return op.value("llvm.inttoptr", (there,), pointer_to(SHARED_SPACE))


def _store(op: Replacement) -> list[Value]:
    tensor_map, shared, *coordinates = op.operands
    kind = op.operation.attributes["kind"].value
    copy = _Copy(op, (_STORE if kind == "store" else _REDUCE).format(rank=len(coordinates), kind=kind))
    copy.box(tensor_map, coordinates)
    copy.address(shared)
    return copy.write()


def _prefetch(op: Replacement) -> list[Value]:
    tensor_map, *coordinates = op.operands
    copy = _Copy(op, _PREFETCH.format(rank=len(coordinates)))
    copy.box(tensor_map, coordinates)
    return copy.write()


# maps -----------------------------------------------------------------------------------------------------------------
_PUBLISH = "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned"


def _always(text: str, letters: str = "") -> Rule:
    """One instruction with the operands of the operation."""

    def rule(op: Replacement) -> list[Value]:
        inline_ptx(op, text, letters, op.operands)
        return []

    return rule


def _replace(op: Replacement) -> list[Value]:
    """One instruction for each field. Strides are in bytes for assemblers from CUDA 12.5 on."""
    tensor_map, base, *numbers = op.operands
    rank = (len(numbers) + 1) // 2
    shared = memory_space(tensor_map.type) == SHARED_SPACE
    space, letter = ("shared::cta", "r") if shared else ("global", "l")
    name = "tensormap.replace.tile.{field}." + space + ".b1024"
    inline_ptx(op, f"{name.format(field='global_address')}.b64 [$0], $1;", f"{letter},l", (tensor_map, base))
    for i, extent in enumerate(numbers[:rank]):
        word = op.value("arith.trunci", (extent,), "i32")
        inline_ptx(op, f"{name.format(field='global_dim')}.b32 [$0], {i}, $1;", f"{letter},r", (tensor_map, word))
    for i, stride in enumerate(numbers[rank:]):
        inline_ptx(op, f"{name.format(field='global_stride')}.b64 [$0], {i}, $1;", f"{letter},l", (tensor_map, stride))
    return []


# cluster launch control -----------------------------------------------------------------------------------------------
_CLC = "clusterlaunchcontrol"


def _try_cancel(op: Replacement) -> list[Value]:
    intrinsic(op, f"{_CLC}.try_cancel.async.multicast.shared", op.operands)
    return []


def _query(op: Replacement) -> list[Value]:
    """Whether there is a cluster, and where it begins: of a refusal there is no index to be asked for."""
    response = op.value("llvm.load", op.operands, "i128", {"alignment": op.builder.integer("i64", 16)})
    given = intrinsic(op, f"{_CLC}.query_cancel.is_canceled", (response,), "i1")
    assert given is not None, "it has a result"
    return [given, *(_first_block(op, response, axis) for axis in "xyz")]


def _first_block(op: Replacement, response: Value, axis: str) -> Value:
    text = (
        f"{{ .reg .pred %clc_given; {_CLC}.query_cancel.is_canceled.pred.b128 %clc_given, $1; mov.b32 $0, 0; "
        f"@%clc_given {_CLC}.query_cancel.get_first_ctaid::{axis}.b32.b128 $0, $1; }}"
    )
    attributes = {"asm_string": op.builder.string(text), "constraints": op.builder.string("=&r,q")}
    return op.value("llvm.inline_asm", (response,), "i32", attributes)


TMA_RULES: dict[str, Rule] = {
    TMA_LOAD: _load,
    TMA_STORE: _store,
    TMA_PREFETCH: _prefetch,
    TENSORMAP_PREFETCH: _always("prefetch.tensormap [$0];", "l"),
    TENSORMAP_REPLACE: _replace,
    TENSORMAP_RELEASE: _always("fence.proxy.tensormap::generic.release.gpu;"),
    TENSORMAP_ACQUIRE: _always(f"fence.proxy.tensormap::generic.acquire.gpu [$0], {TENSOR_MAP_BYTES};", "l"),
    TENSORMAP_CP_FENCEPROXY: _always(f"{_PUBLISH} [$0], [$1], {TENSOR_MAP_BYTES};", "l,r"),
}


_CLUSTER_POINTER = pointer_to(CLUSTER_SPACE)


def _plain(name: str | Callable[[Replacement], str]) -> Rule:
    """One intrinsic with the operands of the operation."""

    def rule(op: Replacement) -> list[Value]:
        intrinsic(op, name if isinstance(name, str) else name(op), op.operands)
        return []

    return rule


# mbarriers ------------------------------------------------------------------------------------------------------------
def _counting(name: str, *, gives_state: bool) -> Rule:
    """An update of an mbarrier, or of the one at the same place of another block.

    Both are of the scope `cta`: with that of the cluster the assembler orders all memory of the GPU in front of it.
    """

    def rule(op: Replacement) -> list[Value]:
        barrier, number, *rank = op.operands
        if rank:
            there = intrinsic(op, "mapa.shared.cluster", (barrier, *rank), _CLUSTER_POINTER)
            assert there is not None, "the intrinsic has a result"
            intrinsic(op, f"mbarrier.{name}.scope.cta.space.cluster", (there, number))
        else:
            intrinsic(op, f"mbarrier.{name}.scope.cta.space.cta", (barrier, number), "i64" if gives_state else None)
        return []

    return rule


_TRY_WAIT = "mbarrier.try.wait.parity.scope.cta.space.cta"


def _test(op: Replacement) -> list[Value]:
    over = intrinsic(op, _TRY_WAIT, op.operands, "i1")
    assert over is not None, "the intrinsic has a result"
    return [over]


def _wait(op: Replacement) -> list[Value]:
    """`while not try_wait: pass`."""
    loop = op.builder.operation("scf.while", regions=2)
    outside = op.builder.enter(op.builder.append_block(loop, 0))
    over = intrinsic(op, _TRY_WAIT, op.operands, "i1")
    assert over is not None, "the intrinsic has a result"
    true = op.value("arith.constant", (), "i1", {"value": op.attribute("true")})
    op.effect("scf.condition", (op.value("arith.xori", (over, true), "i1"),))
    op.builder.enter(op.builder.append_block(loop, 1))
    op.effect("scf.yield", ())
    op.builder.leave(outside)
    return []


# groups of copies and fences ------------------------------------------------------------------------------------------
def _bulk_wait(op: Replacement) -> list[Value]:
    attributes = op.operation.attributes
    read = ".read" if attributes["kind"].value == "read" else ""
    intrinsic(op, f"cp.async.bulk.wait.group{read}", (op.integer("i32", attributes["groups"].value),))
    return []


_FENCES = {"shared": ".shared_cta", "global": ".global", "all": ""}


# clusters -------------------------------------------------------------------------------------------------------------
_ORDERS = {"release": "", "relaxed": ".relaxed"}


def _cluster_address(op: Replacement) -> list[Value]:
    there = intrinsic(op, "mapa.shared.cluster", op.operands, _CLUSTER_POINTER)
    assert there is not None, "the intrinsic has a result"
    return [there]


_REGISTERS = {"i32": ("b32", "r"), "i64": ("b64", "l"), "f32": ("b32", "f"), "f64": ("b64", "d")}


def _store_async(op: Replacement) -> list[Value]:
    address, value, barrier = op.operands
    kind = type_text(value.type)
    if kind not in _REGISTERS:
        raise LoweringError(
            "a store to another block of the cluster moves one word",
            span=place_of(op.operation),
            found=kind,
            expected=f"one of {', '.join(_REGISTERS)}",
        )
    type_, letter = _REGISTERS[kind]
    text = f"st.async.shared::cluster.mbarrier::complete_tx::bytes.{type_} [$0], $1, [$2];"
    inline_ptx(op, text, f"r,{letter},r", (address, value, barrier))
    return []


# registers ------------------------------------------------------------------------------------------------------------
_CHANGES = {"increase": "inc", "decrease": "dec"}


def _set_registers(op: Replacement) -> list[Value]:
    attributes = op.operation.attributes
    change, count = _CHANGES[attributes["kind"].value], op.integer("i32", attributes["count"].value)
    intrinsic(op, f"setmaxnreg.{change}.sync.aligned.u32", (count,))
    return []


RULES: dict[str, Rule] = {
    simt.MBARRIER_INIT: _plain("mbarrier.init.shared"),
    simt.MBARRIER_ARRIVE: _counting("arrive", gives_state=True),
    simt.MBARRIER_EXPECT: _counting("expect.tx", gives_state=False),
    simt.MBARRIER_ARRIVE_EXPECT: _counting("arrive.expect.tx", gives_state=True),
    simt.MBARRIER_COMPLETE: _counting("complete.tx", gives_state=False),
    simt.MBARRIER_WAIT: _wait,
    simt.MBARRIER_TEST: _test,
    simt.MBARRIER_FENCE: _plain("fence.mbarrier_init.release.cluster"),
    simt.ASYNC_ARRIVE: _plain("cp.async.mbarrier.arrive.noinc.shared"),
    simt.ASYNC_FENCE: _plain(lambda op: f"fence.proxy.async{_FENCES[op.operation.attributes['space'].value]}"),
    **TMA_RULES,
    CLC_TRY_CANCEL: _try_cancel,
    CLC_QUERY: _query,
    simt.BULK_COMMIT: _plain("cp.async.bulk.commit.group"),
    simt.BULK_WAIT: _bulk_wait,
    simt.CLUSTER_ARRIVE: _plain(lambda op: "barrier.cluster.arrive" + _ORDERS[op.operation.attributes["order"].value]),
    simt.CLUSTER_WAIT: _plain("barrier.cluster.wait"),
    simt.CLUSTER_ADDRESS: _cluster_address,
    simt.STORE_ASYNC: _store_async,
    simt.SET_REGISTERS: _set_registers,
}


LOADS = frozenset({TMA_LOAD})


def copying(architecture: Architecture) -> Callable[[Module], None]:
    """The pass for one architecture: it replaces all of them, found in one walk."""
    rules: dict[str, Rule] = {**RULES, TMA_LOAD: partial(_load, generation=architecture.generation)}

    def lower_mbarrier_and_tma(module: Module) -> None:
        replace_each(operations_named(module, *rules), lambda op: rules[op.operation.name](op))

    return lower_mbarrier_and_tma


# Passes `take-tensor-maps`, `pass-tensor-maps`: kernels receive tensor maps themselves, not pointers to them.
#
# Traced kernels mark such arguments; so do, between the two passes, the kernel and its launch, by the places among the
# arguments: arguments may be added, and only functions of LLVM can say how one is passed. The 128 bytes lie among the
# parameters of a kernel, where TMA copies read them; nobody makes a copy in the memory of a thread.

_ARGUMENTS = "arg_attrs"
_PASSED = {
    "llvm.byval": f"!llvm.array<{TENSOR_MAP_BYTES} x i8>",
    "llvm.align": "64 : i64",
    "nvvm.grid_constant": "unit",
}


def take_tensor_maps(module: Module) -> None:
    """Mark kernels and launches by what the kernels' arguments say."""
    ir = bindings.mlir()
    found: dict[str, Attribute] = {}
    with module.context:
        for kernel in kernels(module):
            places = _marked(kernel)
            if places:
                mark = found[kernel.attributes["sym_name"].value] = ir.DenseI32ArrayAttr.get(places)
                kernel.attributes[MAPS] = mark
        for launch in launches(module) if found else ():
            if launch.kernel in found:
                launch.operation.attributes[MAPS] = found[launch.kernel]


def _marked(kernel: Operation) -> list[int]:
    """The places of the marked arguments, of which nothing else is said here."""
    if _ARGUMENTS not in kernel.attributes:
        return []
    ir = bindings.mlir()
    each = [ir.DictAttr(one) for one in ir.ArrayAttr(kernel.attributes[_ARGUMENTS])]
    del kernel.attributes[_ARGUMENTS]
    return [place for place, said in enumerate(each) if TENSOR_MAP_ARGUMENT in said]


def pass_tensor_maps(module: Module) -> None:
    """Say of each map how it is passed, beside what is known of the other arguments."""
    ir = bindings.mlir()
    with module.context:
        for kernel in kernels(module, "llvm.func"):
            if MAPS not in kernel.attributes:
                continue
            places = set(ir.DenseI32ArrayAttr(kernel.attributes[MAPS]))
            passed = ir.DictAttr.get({name: ir.Attribute.parse(text) for name, text in _PASSED.items()})
            known = list(ir.ArrayAttr(kernel.attributes[_ARGUMENTS])) if _ARGUMENTS in kernel.attributes else []
            count = len(kernel.regions[0].blocks[0].arguments)
            known += [ir.DictAttr.get({})] * (count - len(known))
            kernel.attributes[_ARGUMENTS] = ir.ArrayAttr.get(
                [passed if place in places else said for place, said in enumerate(known)]
            )
            del kernel.attributes[MAPS]
