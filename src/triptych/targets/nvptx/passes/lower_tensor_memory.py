"""Pass `lower-tensor-memory`: UMMA, its commits, and what is done with tensor memory, as intrinsics of LLVM.

Input: kernels of any machine. Output: intrinsics by their names; one elected lane of the warp issues products and
commits. Addresses of tensor memory are pointers of 32 bits there. A product is an instruction for each k, whose
descriptors are one sum apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from triptych.ir.handles import Module, Value
from triptych.ir.modules import operations_named
from triptych.ir.passes import Replacement, Rule, replace_each
from triptych.ir.types import TENSOR_SPACE, pointer_to
from triptych.kernel_ir.dialects.smem_operands import CHUNK_BYTES, K_MAJOR, SmemOperand
from triptych.kernel_ir.dialects.tile import (
    TMEM_ALLOC,
    TMEM_COPY,
    TMEM_DEALLOC,
    TMEM_FENCE,
    TMEM_LOAD,
    TMEM_LOAD_REDUCE,
    TMEM_PERMIT,
    TMEM_STORE,
    TMEM_WAIT,
    UMMA,
    UMMA_COMMIT,
)
from triptych.kernel_ir.dialects.umma import umma
from triptych.targets.nvptx.passes.lower_mbarrier_and_tma import inline_ptx, intrinsic

_POINTER = pointer_to(TENSOR_SPACE)
_KINDS = {"f16": 0, "tf32": 1, "f8f6f4": 2, "i8": 3}
"""The immediate of the intrinsic for each kind of product."""
_SCALES = ("sfa", "sfb")
_BLOCKS = {("mxf8f6f4", 32): "", ("mxf4", 32): "", ("mxf4nvf4", 16): ".block16", ("mxf4nvf4", 32): ".block32"}
"""What names of intrinsics say of how many elements share a scale."""
_ADDRESS_BITS, _LOW = 0x3FFF, 0xFFFFFFFF


def _by_one_lane(op: Replacement, act: Callable[[], None]) -> None:
    """`if elect: act`."""
    elected = op.value("nvvm.elect.sync", (), "i1")
    branch = op.builder.operation("scf.if", (elected,), regions=2)
    outside = op.builder.enter(op.builder.append_block(branch, 0))
    act()
    op.effect("scf.yield", ())
    op.builder.leave(outside)


def _pointer(op: Replacement, address: Value) -> Value:
    return op.value("llvm.inttoptr", (address,), _POINTER)


def _ctas(op: Replacement) -> int:
    return int(op.operation.attributes["ctas"].value)


# products -------------------------------------------------------------------------------------------------------------
def _multiply(op: Replacement) -> list[Value]:
    attributes = op.operation.attributes
    instruction = umma(str(attributes["instruction"].value))
    assert instruction is not None, "checked where it was emitted"
    d, a, b, accumulate, *rest = op.operands
    scales, seconds = rest[:2], dict(zip("ab", rest[2:], strict=False))
    m_tiles, n_tiles, k_tiles = attributes["tiles"]
    steps, places = list(attributes["d"]), {name: list(attributes[name]) for name in "ab"}
    shared = {name: list(attributes[f"{name}_operand"]) for name in "ab"}
    lies = {name: SmemOperand(*operand) for name, operand in shared.items() if operand}
    bits = op.integer("i32", instruction.descriptor(lies["a"].major if "a" in lies else K_MAJOR, lies["b"].major))
    kind, ctas = instruction.kind, op.integer("i32", instruction.ctas)
    name, zero = "tcgen05.mma.shared" if "a" in lies else "tcgen05.mma.tensor", op.integer("i32", 0)
    if scales:
        name = f"{name}.{kind}.block_scale{_BLOCKS[kind, instruction.vector]}"

    def issue() -> None:
        starts = {name: _start(op, each) for name, each in (("a", a), ("b", b)) if name in lies}

        def operand(name: str, index: int) -> Value:
            if name not in lies:
                return _pointer(op, _moved(op, a, places[name][index]))
            if seconds:
                return _of_two_buffers(op, {"a": a, "b": b}[name], seconds[name], lies[name])
            return _descriptor(op, starts[name], lies[name].umma_descriptor(), places[name][index] // CHUNK_BYTES)

        true = op.value("arith.constant", (), "i1", {"value": op.attribute("true")})
        for k in range(k_tiles):
            for n in range(n_tiles):
                for m in range(m_tiles):
                    step = op.integer("i32", steps[m + m_tiles * n])
                    there = _pointer(op, op.value("arith.addi", (d, step), "i32"))
                    factors = (operand("a", m + m_tiles * k), operand("b", n + n_tiles * k))
                    adds = accumulate if k == 0 else true
                    if scales:
                        found = [
                            _moved(op, scale, attributes[each][k]) for each, scale in zip(_SCALES, scales, strict=True)
                        ]
                        pointers = [_pointer(op, address) for address in found]
                        last = (_with_bytes(op, bits, found), adds, *pointers, ctas, zero)
                    else:
                        last = (bits, adds, op.integer("i32", _KINDS[kind]), ctas, zero)
                    intrinsic(op, name, (there, *factors, *last))

    _by_one_lane(op, issue)
    return []


def _moved(op: Replacement, address: Value, step: int) -> Value:
    return op.value("arith.addi", (address, op.integer("i32", step)), "i32") if step else address


def _with_bytes(op: Replacement, bits: Value, scales: Sequence[Value]) -> Value:
    """The instruction descriptor with the bytes of words that scales are: of B at bit 4, of A at bit 29."""
    sfa, sfb = (op.value("arith.shrui", (scale, op.integer("i32", 30)), "i32") for scale in scales)
    for byte, shift in ((sfb, 4), (sfa, 29)):
        bits = op.value("arith.ori", (bits, op.value("arith.shli", (byte, op.integer("i32", shift)), "i32")), "i32")
    return bits


def _copy(op: Replacement) -> list[Value]:
    """A chunk of scales: 32 rows of 16 bytes, eight of which are 128 bytes."""
    address, source = op.operands

    def issue() -> None:
        chunk = _descriptor(op, _start(op, source), SmemOperand(0, 0, CHUNK_BYTES, 128).umma_descriptor(), 0)
        intrinsic(op, f"tcgen05.cp.32x128b_warpx4.cg{_ctas(op)}", (_pointer(op, address), chunk))

    _by_one_lane(op, issue)
    return []


def _start(op: Replacement, pointer: Value, further: Value | None = None) -> Value:
    """An address of shared memory, or one so many bytes further, in units of 16 bytes."""
    address = op.value("llvm.ptrtoint", (pointer,), "i32")
    if further is not None:
        address = op.value("arith.addi", (address, further), "i32")
    chunk = op.value("arith.shrui", (address, op.integer("i32", 4)), "i32")
    return op.value("arith.andi", (chunk, op.integer("i32", _ADDRESS_BITS)), "i32")


def _descriptor(op: Replacement, start: Value, constant: int, distance: int) -> Value:
    """The address and what is in the same word are added up in 32 bits: no sum has more than 14 of the address."""
    low = op.value("arith.addi", (start, op.integer("i32", (constant & _LOW) + distance)), "i32")
    wide = op.value("arith.extui", (low,), "i64")
    return op.value("arith.ori", (wide, op.integer("i64", constant & ~_LOW)), "i64")


def _of_two_buffers(op: Replacement, pointer: Value, second: Value, lies: SmemOperand) -> Value:
    """The address of the second buffer, so many bytes further, is where the first distance would be."""
    there = op.value("arith.shli", (_start(op, pointer, second), op.integer("i32", 16)), "i32")
    low = op.value("arith.ori", (_start(op, pointer), there), "i32")
    wide = op.value("arith.extui", (low,), "i64")
    return op.value("arith.ori", (wide, op.integer("i64", lies.second_buffer_descriptor())), "i64")


def _commit(op: Replacement) -> list[Value]:
    barrier, blocks = op.operands
    multicast = bool(op.operation.attributes["multicast"].value)

    def issue() -> None:
        if multicast:
            mask = op.value("arith.trunci", (blocks,), "i16")
            intrinsic(op, f"tcgen05.commit.mc.shared.cg{_ctas(op)}", (barrier, mask))
        else:
            intrinsic(op, f"tcgen05.commit.shared.cg{_ctas(op)}", (barrier,))

    _by_one_lane(op, issue)
    return []


# tensor memory --------------------------------------------------------------------------------------------------------
def _allocate(op: Replacement) -> list[Value]:
    intrinsic(op, f"tcgen05.alloc.shared.cg{_ctas(op)}", op.operands)
    return []


def _free(op: Replacement) -> list[Value]:
    address, columns = op.operands
    intrinsic(op, f"tcgen05.dealloc.cg{_ctas(op)}", (_pointer(op, address), columns))
    return []


def _permit(op: Replacement) -> list[Value]:
    intrinsic(op, f"tcgen05.relinq.alloc.permit.cg{_ctas(op)}", ())
    return []


# MLIR and LLVM have different types for intrinsics of one register: these are inline PTX.
def _load(op: Replacement) -> list[Value]:
    attributes = op.operation.attributes
    shape, repeat = attributes["shape"].value, attributes["repeat"].value
    count = len(op.operation.results)
    there = _pointer(op, op.operands[0])
    if count == 1:
        pack = ".pack::16b" if attributes["pack"].value else ""
        text = f"tcgen05.ld.sync.aligned.{shape}.x1{pack}.b32 {{$0}}, [$1];"
        word = inline_ptx(op, text, "=r,r", op.operands, "i32")
        assert word is not None, "a load has a result"
        return [word]
    packs = op.value("arith.constant", (), "i1", {"value": attributes["pack"]})
    words = intrinsic(op, f"tcgen05.ld.{shape}.x{repeat}", (there, packs), f"vector<{count}xi32>")
    assert words is not None, "the intrinsic has a result"
    return [op.element(words, i, "i32") for i in range(count)]


def _load_reduce(op: Replacement) -> list[Value]:
    """LLVM has no intrinsic of it."""
    attributes = op.operation.attributes
    shape, repeat, kind = (attributes[name].value for name in ("shape", "repeat", "kind"))
    count = len(op.operation.results)
    *words, number = (f"${i}" for i in range(count))
    form = f"tcgen05.ld.red.sync.aligned.{shape}.x{repeat}.{kind}.f32"
    text = f"{form} {{{', '.join(words)}}}, {number}, [${count}];"
    struct = f"!llvm.struct<({', '.join(['i32'] * count)})>"
    made = inline_ptx(op, text, ",".join(["=r"] * count + ["r"]), op.operands, struct)
    assert made is not None, "a load has results"
    places = [{"position": op.attribute(f"array<i64: {i}>")} for i in range(count)]
    return [op.value("llvm.extractvalue", (made,), "i32", place) for place in places]


def _store(op: Replacement) -> list[Value]:
    attributes = op.operation.attributes
    shape, repeat = attributes["shape"].value, attributes["repeat"].value
    address, *words = op.operands
    if len(words) == 1:
        unpack = ".unpack::16b" if attributes["pack"].value else ""
        inline_ptx(op, f"tcgen05.st.sync.aligned.{shape}.x1{unpack}.b32 [$0], {{$1}};", "r,r", op.operands)
        return []
    packs = op.value("arith.constant", (), "i1", {"value": attributes["pack"]})
    vector = op.value("vector.from_elements", words, f"vector<{len(words)}xi32>")
    intrinsic(op, f"tcgen05.st.{shape}.x{repeat}", (_pointer(op, address), vector, packs))
    return []


def _wait(op: Replacement) -> list[Value]:
    kind = {"load": "ld", "store": "st"}[op.operation.attributes["kind"].value]
    intrinsic(op, f"tcgen05.wait.{kind}", ())
    return []


def _fence(op: Replacement) -> list[Value]:
    intrinsic(op, f"tcgen05.fence.{op.operation.attributes['kind'].value}.thread.sync", ())
    return []


TENSOR_RULES: dict[str, Rule] = {
    UMMA: _multiply,
    UMMA_COMMIT: _commit,
    TMEM_ALLOC: _allocate,
    TMEM_DEALLOC: _free,
    TMEM_PERMIT: _permit,
    TMEM_LOAD: _load,
    TMEM_LOAD_REDUCE: _load_reduce,
    TMEM_STORE: _store,
    TMEM_COPY: _copy,
    TMEM_WAIT: _wait,
    TMEM_FENCE: _fence,
}


def lower_tensor_memory(module: Module) -> None:
    """Replace all of them, found in one walk."""
    replace_each(operations_named(module, *TENSOR_RULES), lambda op: TENSOR_RULES[op.operation.name](op))
