"""Lane-by-lane access functions, each written once: not at every access that no instruction has.

Input: the size of an access, its alignment, the lanes of a warp and whether some may be missing. Output: a function as
MLIR text. It takes the memory in which the values of all lanes wait side by side, the address of each lane, and the
active lanes as bits. Values are integers, whatever the program takes them for: what is moved is bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from string import Template

_MASK_BITS = 64
"""Lanes of the widest warp."""
_EVERY_LANE = Template("""
%begin = arith.constant 0 : index
%end = arith.constant $width : index
%step = arith.constant 1 : index
scf.for %number = %begin to %end step %step {
  %lane = arith.index_cast %number : index to i64
  $access
}""")
_ACTIVE_LANES = Template("""
$extended
%zero = arith.constant 0 : i64
%one = arith.constant 1 : i64
scf.while (%left = $bits) : (i64) -> i64 {
  %more = arith.cmpi ne, %left, %zero : i64
  scf.condition(%more) %left : i64
} do {
^bb0(%left: i64):
  %lane = math.cttz %left : i64
  $access
  %less = arith.subi %left, %one : i64
  %next = arith.andi %left, %less : i64
  scf.yield %next : i64
}""")
_WHERE = Template("""
  %from = llvm.getelementptr %kept[%lane] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %word = llvm.load %from {alignment = 8 : i64} : !llvm.ptr -> i64
  %address = llvm.inttoptr %word : i64 to !llvm.ptr
  %place = llvm.getelementptr %home[%lane] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.array<$count x i$bits>""")
_LOAD = Template("""
  %value = llvm.load %address {alignment = $alignment : i64} : !llvm.ptr -> $kind
  llvm.store %value, %place {alignment = $size : i64} : $kind, !llvm.ptr""")
_STORE = Template("""
  %value = llvm.load %place {alignment = $size : i64} : !llvm.ptr -> $kind
  llvm.store %value, %address {alignment = $alignment : i64} : $kind, !llvm.ptr""")
_CLEAR = Template("""
%nothing = llvm.mlir.zero : $every
llvm.store %nothing, %home {alignment = 64 : i64} : $every, !llvm.ptr""")
_COPY = Template("""
  %from = llvm.getelementptr %kept[%lane] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %word = llvm.load %from {alignment = 8 : i64} : !llvm.ptr -> i64
  %source = llvm.inttoptr %word : i64 to !llvm.ptr
  %to = llvm.getelementptr %targets[%lane] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %other = llvm.load %to {alignment = 8 : i64} : !llvm.ptr -> i64
  %target = llvm.inttoptr %other : i64 to !llvm.ptr
  %value = llvm.load %source {alignment = $alignment : i64} : !llvm.ptr -> $kind
  llvm.store %value, %target {alignment = $alignment : i64} : $kind, !llvm.ptr""")
_COPY_FUNCTION = Template("""
func.func private @"$name"(%addresses: vector<${width}x!llvm.ptr>, %others: vector<${width}x!llvm.ptr>, %mask: i$width)
    attributes {llvm.passthrough = ["noinline", "nounwind"]} {
  %once = arith.constant 1 : i64
  %kept = llvm.alloca %once x vector<${width}xi64> {alignment = 64 : i64} : (i64) -> !llvm.ptr
  %words = llvm.ptrtoint %addresses : vector<${width}x!llvm.ptr> to vector<${width}xi64>
  llvm.store %words, %kept {alignment = 64 : i64} : vector<${width}xi64>, !llvm.ptr
  %targets = llvm.alloca %once x vector<${width}xi64> {alignment = 64 : i64} : (i64) -> !llvm.ptr
  %more_words = llvm.ptrtoint %others : vector<${width}x!llvm.ptr> to vector<${width}xi64>
  llvm.store %more_words, %targets {alignment = 64 : i64} : vector<${width}xi64>, !llvm.ptr
  $body
  func.return
}""")
_FUNCTION = Template("""
func.func private @"$name"(%home: !llvm.ptr, %addresses: vector<${width}x!llvm.ptr>$mask)
    attributes {llvm.passthrough = ["noinline", "nounwind"]} {
  %once = arith.constant 1 : i64
  %kept = llvm.alloca %once x vector<${width}xi64> {alignment = 64 : i64} : (i64) -> !llvm.ptr
  %words = llvm.ptrtoint %addresses : vector<${width}x!llvm.ptr> to vector<${width}xi64>
  llvm.store %words, %kept {alignment = 64 : i64} : vector<${width}xi64>, !llvm.ptr
  $body
  func.return
}""")


@dataclass(frozen=True, slots=True)
class LaneAccess:
    """What every active lane reads or writes: `count` integers of `bits`, at an address of its own."""

    loads: bool
    bits: int
    count: int
    alignment: int
    width: int
    masked: bool

    @property
    def every(self) -> str:
        """The type of the values of all lanes."""
        return f"vector<{self.count * self.width}xi{self.bits}>"

    @property
    def name(self) -> str:
        what = f"{'load' if self.loads else 'store'}.{self.count}x{self.bits}.aligned{self.alignment}"
        return f"lanes{self.width}.{what}{'.masked' if self.masked else ''}"


@cache
def lane_function(access: LaneAccess) -> str:
    """The function of that name."""
    kind = f"i{access.bits}" if access.count == 1 else f"vector<{access.count}xi{access.bits}>"
    action = _WHERE.substitute(count=access.count, bits=access.bits) + (_LOAD if access.loads else _STORE).substitute(
        kind=kind, alignment=access.alignment, size=access.bits // 8
    )
    if access.masked:
        lines = _for_active_lanes(access.width, action)
    else:
        lines = _EVERY_LANE.substitute(width=access.width, access=action)
    if access.loads and access.masked:
        lines = _CLEAR.substitute(every=access.every) + lines
    mask = f", %mask: i{access.width}" if access.masked else ""
    return _FUNCTION.substitute(name=access.name, width=access.width, mask=mask, body=lines)


def _for_active_lanes(width: int, action: str) -> str:
    whole = width == _MASK_BITS
    extended = "" if whole else f"%bits = arith.extui %mask : i{width} to i{_MASK_BITS}"
    return _ACTIVE_LANES.substitute(bits="%mask" if whole else "%bits", extended=extended, access=action)


@dataclass(frozen=True, slots=True)
class LaneCopy:
    """What every active lane copies from one address of its own to another: integers of `bits`."""

    bits: int
    count: int
    alignment: int
    width: int

    @property
    def name(self) -> str:
        return f"lanes{self.width}.copy.{self.count}x{self.bits}.aligned{self.alignment}"


@cache
def copy_function(copy: LaneCopy) -> str:
    """The function of that name."""
    action = _COPY.substitute(kind=f"vector<{copy.count}xi{copy.bits}>", alignment=copy.alignment)
    return _COPY_FUNCTION.substitute(name=copy.name, width=copy.width, body=_for_active_lanes(copy.width, action))
