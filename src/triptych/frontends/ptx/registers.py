"""Inline PTX, registers while a text is followed: their kinds, their bits, and the literals beside them."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from math import prod

from triptych.frontends.ptx.code import FLOATS, WIDTHS, Code, bits_of, is_signed, width_of
from triptych.frontends.ptx.warps import lane
from triptych.ir.handles import Value
from triptych.kernel_ir.dialects.simt import CLOCK, GLOBAL_TIMER
from triptych.metastage.trace.errors import OperandTypeError
from triptych.metastage.trace.trace import place

# Inline PTX, special registers: which thread this is, and what time it is.

_INDICES = {"%tid": "gpu.thread_id", "%ntid": "gpu.block_dim", "%ctaid": "gpu.block_id", "%nctaid": "gpu.grid_dim"}
_MOMENTS = {"%clock": (CLOCK, "i32"), "%clock64": (CLOCK, "i64"), "%globaltimer": (GLOBAL_TIMER, "i64")}
_WARP = 32


def special_register(code: Code, name: str) -> Value | None:
    """The bits of a special register; None if there is none of that name that has a meaning here."""
    base, _, axis = name.partition(".")
    if base in _INDICES and axis in ("x", "y", "z"):
        attributes = {"dimension": code.trace.builder.attribute(f"#gpu<dim {axis}>")}
        index = code.value(_INDICES[base], (), "index", attributes)
        return code.value("arith.index_cast", (index,), "i32")
    if name in _MOMENTS:
        operation, kind = _MOMENTS[name]
        return code.value(operation, (), kind)
    if name == "WARP_SZ":
        return code.integer(32, _WARP)
    if name in _CLUSTER and code.trace.kernel is not None:
        return _CLUSTER[name](code, code.trace.kernel.cluster)
    return _LANES[name](code) if name in _LANES else None


def _block(code: Code, axis: str) -> Value:
    found = special_register(code, f"%ctaid.{axis}")
    assert found is not None, "block numbers are special registers"
    return found


def _rank(code: Code, cluster: tuple[int, int, int]) -> Value:
    """The place of the block in its cluster, along x first."""
    rank = code.integer(32, 0)
    for axis, extent in reversed(list(zip("xyz", cluster, strict=True))):
        size = code.integer(32, extent)
        within = code.like("arith.remui", _block(code, axis), size)
        rank = code.like("arith.addi", code.like("arith.muli", rank, size), within)
    return rank


_CLUSTER: dict[str, Callable[[Code, tuple[int, int, int]], Value]] = {
    "%cluster_ctarank": _rank,
    "%cluster_nctarank": lambda code, cluster: code.integer(32, prod(cluster)),
}


def _before(code: Code, past: int) -> Value:
    """A bit for each lane before this one, or before the one `past` it."""
    lanes = code.like("arith.shli", code.integer(64, 1 << past), code.resized(lane(code), 64))
    return code.resized(code.like("arith.subi", lanes, code.integer(64, 1)), 32)


def _not(code: Code, mask: Value) -> Value:
    return code.like("arith.xori", mask, code.integer(32, -1))


_LANES: dict[str, Callable[[Code], Value]] = {
    "%laneid": lane,
    "%lanemask_eq": lambda code: code.like("arith.shli", code.integer(32, 1), lane(code)),
    "%lanemask_lt": lambda code: _before(code, 0),
    "%lanemask_le": lambda code: _before(code, 1),
    "%lanemask_gt": lambda code: _not(code, _before(code, 1)),
    "%lanemask_ge": lambda code: _not(code, _before(code, 0)),
}


_OPERAND = re.compile(r"\$(\d+)|\$\{(\d+)\}")
_INTEGER = re.compile(r"(-?)(0[xX][0-9a-fA-F]+|0[bB][01]+|0[0-7]*|[1-9]\d*)U?")
_HEX_FLOAT = re.compile(r"0([fF][0-9a-fA-F]{8}|[dD][0-9a-fA-F]{16})")
_DECIMAL = re.compile(r"-?\d+\.\d*(?:[eE][-+]?\d+)?")
_ADDRESS = re.compile(r"\[\s*([^\]+]+?)\s*(?:\+\s*(-?\w+)\s*)?\]")


class Registers:
    """The registers of one text. What a scope declares ends with it; operands `$0`, `$1` … are there throughout."""

    def __init__(self, code: Code) -> None:
        self._code = code
        self._kinds: list[dict[str, str]] = [{}]
        self._bits: list[dict[str, Value]] = [{}]

    def declare(self, name: str, kind: str, value: Value | None = None) -> None:
        if kind not in WIDTHS:
            raise refused(f"a register .{kind}", f"one of {', '.join(WIDTHS)}")
        if name in self._kinds[-1]:
            raise refused(f"the register `{name}` is declared twice", "one declaration in each scope")
        self._kinds[-1][name] = kind
        if value is not None:
            self._bits[-1][name] = value

    def enter(self) -> None:
        self._kinds.append({})
        self._bits.append({})

    def leave(self) -> None:
        self._kinds.pop()
        self._bits.pop()

    def _level(self, name: str) -> int | None:
        found = _OPERAND.fullmatch(name)
        name = f"${found[1] or found[2]}" if found else name
        return next((i for i in reversed(range(len(self._kinds))) if name in self._kinds[i]), None)

    def current(self, name: str) -> Value | None:
        """The bits in a register now; None if nothing has been written to it."""
        level = self._level(name)
        return None if level is None else self._bits[level].get(_plain(name))

    def kind(self, name: str) -> str:
        level = self._level(name)
        if level is None:
            raise refused(f"`{name}` is written, which is no register of this text", "a register, or a result as `$0`")
        return self._kinds[level][_plain(name)]

    # reading ----------------------------------------------------------------------------------------------------
    def read(self, operand: str, kind: str, widens: bool, special: bool) -> Value:
        """An operand as what an instruction of a kind computes with."""
        return self._code.from_bits(self.read_bits(operand, kind, widens, special), kind)

    def read_bits(self, operand: str, kind: str, widens: bool = False, special: bool = False) -> Value:
        if operand.startswith("!") and kind == "pred":
            return self._code.like("arith.xori", self.read_bits(operand[1:], kind, widens), self._code.integer(1, 1))
        bits = self._register(operand)
        if bits is None and special:
            bits = special_register(self._code, operand)
        if bits is None:
            return self._literal(operand, kind)
        width, wanted = width_of(bits), WIDTHS[kind]
        if width == wanted or (widens and width > wanted and kind != "pred"):
            return self._code.resized(bits, wanted)
        raise refused(
            f"`{operand}`, a register of {width} bit{'s' if width > 1 else ''}, as .{kind}",
            f"a register of {wanted} bits",
        )

    def _register(self, name: str) -> Value | None:
        """The bits of a register; None for what is none."""
        level = self._level(name)
        if level is None:
            return None
        found = self._bits[level].get(_plain(name))
        if found is None:
            raise refused(f"`{name}` is read before anything is written to it", "a register that has a value")
        return found

    def _literal(self, text: str, kind: str) -> Value:
        width = WIDTHS[kind]
        if found := _HEX_FLOAT.fullmatch(text):
            return self._float_bits(found[1], kind)
        if kind in FLOATS and _DECIMAL.fullmatch(text):
            return self._code.bits(self._code.number(FLOATS[kind], float(text)), kind)
        if kind not in FLOATS and _INTEGER.fullmatch(text):
            return self._code.integer(width, _integer(text))
        raise refused(
            f"`{text}` as .{kind}",
            "a register of the text, an operand as LLVM writes it, `$0`, or a constant of that type",
        )

    def _float_bits(self, text: str, kind: str) -> Value:
        """`0f3F800000` and `0d3FF0000000000000` are bits; a double becomes what the instruction computes with."""
        number, digits = int(text[1:], 16), len(text) - 1
        if 4 * digits == WIDTHS[kind]:
            return self._code.integer(4 * digits, number)
        if kind in FLOATS and digits == 16:
            (double,) = struct.unpack(">d", number.to_bytes(8, "big"))
            return self._code.bits(self._code.number(FLOATS[kind], double), kind)
        raise refused(f"`0{text}` as .{kind}", f"a constant of {WIDTHS[kind]} bits")

    def address(self, operand: str) -> Value:
        """`[register + constant]` as bits."""
        found = _ADDRESS.fullmatch(operand)
        if found is None:
            raise refused(f"`{operand}` as an address", "`[register]` or `[register + constant]`")
        base = self._register(found[1])
        if base is None or width_of(base) not in (32, 64):
            raise refused(f"`{operand}` as an address", "a register of 64 bits, or of 32 for shared memory")
        if found[2] is None:
            return base
        if not _INTEGER.fullmatch(found[2]):
            raise refused(f"`{operand}` as an address", "a constant after the `+`")
        return self._code.like("arith.addi", base, self._code.integer(width_of(base), _integer(found[2])))

    # writing ----------------------------------------------------------------------------------------------------
    def fitted(self, name: str, kind: str, value: Value, widens: bool) -> Value:
        """What an instruction of a kind has computed, as the bits of a register."""
        bits, width = self._code.bits(value, kind), WIDTHS[self.kind(name)]
        own = WIDTHS[kind]
        if own == width or (widens and own < width and own > 1):
            return self._code.resized(bits, width, is_signed(kind))
        raise refused(f".{kind} is written to `{name}`, a register of {width} bits", f"a register of {own} bits")

    def write(self, name: str, bits: Value) -> None:
        level = self._level(name)
        assert level is not None, "a register is declared before it is written"
        self._bits[level][_plain(name)] = bits

    def bits_type(self, name: str) -> str:
        return bits_of(self.kind(name))


def _plain(name: str) -> str:
    found = _OPERAND.fullmatch(name)
    return f"${found[1] or found[2]}" if found else name


def _integer(text: str) -> int:
    found = _INTEGER.fullmatch(text)
    assert found is not None, "the grammar has read an integer"
    digits = found[2]
    number = int(digits, 8) if digits.isdigit() and digits[0] == "0" else int(digits, 0)
    return -number if found[1] else number


def refused(found: str, expected: str) -> OperandTypeError:
    """The error for a text whose operands do not fit its instructions."""
    return OperandTypeError("an operand of inline PTX does not fit", span=place(), found=found, expected=expected)
