"""Every kind of relocation that is known, decoded again by the formulas of the ABI; and whole AArch64 programs.

LLVM makes AArch64 objects on any machine, so these tests run where no such processor is. What is written is read back
the way that a processor reads it, and must be the address that was asked for.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pytest

from triptych.ir import bindings
from triptych.ir.llvm.linking import Linking
from triptych.ir.llvm.object_file import ObjectFile
from triptych.ir.llvm.relocations import MACHINES, NotLinkableError, Reach

ARM = MACHINES["aarch64"]
PAGE = 4096
BASE = 0x7F12_3456_7000
FAR = 0x0000_55AA_1234_5678
"""An import that no branch of 128 MB reaches."""


def bits(word: int, high: int, low: int) -> int:
    return word >> low & (1 << high - low + 1) - 1


def signed(value: int, width: int) -> int:
    return value - (1 << width) if value >> width - 1 else value


def split_immediate(word: int) -> int:
    return signed(bits(word, 23, 5) << 2 | bits(word, 30, 29), 21)


Decode = Callable[[int, int], int]
"""From an instruction and its address to the address that it means, or to the part of it that it has."""


def data(width: int) -> Decode:
    return lambda word, _: word


def distance(width: int) -> Decode:
    return lambda word, place: place + signed(word, width)


def branch(high: int, low: int) -> Decode:
    return lambda word, place: place + 4 * signed(bits(word, high, low), high - low + 1)


def page(word: int, place: int) -> int:
    return place // PAGE * PAGE + PAGE * split_immediate(word)


def scaled(size: int) -> Decode:
    return lambda word, _: bits(word, 21, 10) * size


def move(word: int, _: int) -> int:
    return bits(word, 20, 5)


def whole(target: int, _: int) -> int:
    return target


def in_page(target: int, _: int) -> int:
    return target % PAGE


def page_of(target: int, _: int) -> int:
    return target // PAGE * PAGE


def quarter(number: int) -> Callable[[int, int], int]:
    return lambda target, _: bits(target, 16 * number + 15, 16 * number)


def quarter_of_distance(number: int) -> Callable[[int, int], int]:
    return lambda target, place: (target - place) >> 16 * number & 0xFFFF


KINDS: dict[int, tuple[str, int, Decode, Callable[[int, int], int], int]] = {
    257: ("ABS64", 64, data(64), whole, 1),
    258: ("ABS32", 32, data(32), whole, 1),
    259: ("ABS16", 16, data(16), whole, 1),
    260: ("PREL64", 64, distance(64), whole, 1),
    261: ("PREL32", 32, distance(32), whole, 1),
    262: ("PREL16", 16, distance(16), whole, 1),
    263: ("MOVW_UABS_G0", 16, move, quarter(0), 1),
    264: ("MOVW_UABS_G0_NC", 64, move, quarter(0), 1),
    265: ("MOVW_UABS_G1", 32, move, quarter(1), 1),
    266: ("MOVW_UABS_G1_NC", 64, move, quarter(1), 1),
    267: ("MOVW_UABS_G2", 48, move, quarter(2), 1),
    268: ("MOVW_UABS_G2_NC", 64, move, quarter(2), 1),
    269: ("MOVW_UABS_G3", 64, move, quarter(3), 1),
    273: ("LD_PREL_LO19", 21, branch(23, 5), whole, 4),
    274: ("ADR_PREL_LO21", 21, lambda word, place: place + split_immediate(word), whole, 1),
    275: ("ADR_PREL_PG_HI21", 33, page, page_of, 1),
    276: ("ADR_PREL_PG_HI21_NC", 33, page, page_of, 1),
    277: ("ADD_ABS_LO12_NC", 64, scaled(1), in_page, 1),
    278: ("LDST8_ABS_LO12_NC", 64, scaled(1), in_page, 1),
    279: ("TSTBR14", 16, branch(18, 5), whole, 4),
    280: ("CONDBR19", 21, branch(23, 5), whole, 4),
    282: ("JUMP26", 28, branch(25, 0), whole, 4),
    283: ("CALL26", 28, branch(25, 0), whole, 4),
    284: ("LDST16_ABS_LO12_NC", 64, scaled(2), in_page, 2),
    285: ("LDST32_ABS_LO12_NC", 64, scaled(4), in_page, 4),
    286: ("LDST64_ABS_LO12_NC", 64, scaled(8), in_page, 8),
    288: ("MOVW_PREL_G0_NC", 64, move, quarter_of_distance(0), 1),
    290: ("MOVW_PREL_G1_NC", 64, move, quarter_of_distance(1), 1),
    292: ("MOVW_PREL_G2_NC", 64, move, quarter_of_distance(2), 1),
    299: ("LDST128_ABS_LO12_NC", 64, scaled(16), in_page, 16),
    309: ("GOT_LD_PREL19", 21, branch(23, 5), whole, 4),
    311: ("ADR_GOT_PAGE", 33, page, page_of, 1),
    312: ("LD64_GOT_LO12_NC", 64, scaled(8), in_page, 8),
    314: ("PLT32", 32, distance(32), whole, 1),
    315: ("GOTPCREL32", 32, distance(32), whole, 1),
}
"""By the numbers of the ABI: name, bits of the reach, how a processor reads it, what it is to find, alignment."""

SIGNED_MOVES = {270: 0, 271: 1, 272: 2, 287: 0, 289: 1, 291: 2, 293: 3}
ADDRESSES = {257, 258, 259} | set(range(263, 270))
"""Those that write an address, so their reach begins at zero."""


def places(kind: int, draws: int = 200) -> Iterator[tuple[int, int]]:
    """Targets within the reach of a kind, its ends included, with places for them."""
    _, reach, _, _, alignment = KINDS[kind]
    generator = random.Random(kind)
    at = BASE + 4 * generator.randrange(1 << 20)
    low, high = (0, (1 << reach) - 1) if kind in ADDRESSES else (at - (1 << reach - 1), at + (1 << reach - 1) - 1)
    if kind in (275, 276, 311):
        at = at // PAGE * PAGE  # the reach counts from the page
        low, high = at - (1 << 32), at + (1 << 32) - 1
    low, high = max(low, 0), min(high, (1 << 64) - 1)
    for target in (low, high, *(generator.randint(low, high) for _ in range(draws))):
        yield -(-target // alignment) * alignment if target == low else target // alignment * alignment, at


def test_every_kind_of_the_table_is_tested() -> None:
    assert set(ARM.kinds) == set(KINDS) | set(SIGNED_MOVES)


@pytest.mark.parametrize("kind", KINDS, ids=[row[0] for row in KINDS.values()])
def test_a_processor_reads_back_what_was_written(kind: int) -> None:
    _, _, decode, expected, _ = KINDS[kind]
    row = ARM.kinds[kind]
    for target, place in places(kind):
        word = row.write(0, target, place)
        assert 0 <= word < 1 << 8 * row.size
        assert decode(word, place) == expected(target, place), (hex(target), hex(place))


@pytest.mark.parametrize("kind", KINDS, ids=[row[0] for row in KINDS.values()])
def test_only_the_field_is_written(kind: int) -> None:
    """What an instruction does is in the other bits: they stay, and old bits of the field do not."""
    row, decode = ARM.kinds[kind], KINDS[kind][2]
    ones = (1 << 8 * row.size) - 1
    field = sum(1 << bit for bit in range(8 * row.size) if decode(1 << bit, 0) != decode(0, 0))
    for target, place in places(kind, 20):
        assert row.write(ones, target, place) == row.write(0, target, place) | ones & ~field


@pytest.mark.parametrize("kind", [k for k, row in KINDS.items() if row[1] < 64 and k != 276])
def test_what_is_out_of_reach_is_refused(kind: int) -> None:
    _, reach, _, _, _ = KINDS[kind]
    place = BASE
    if kind in ADDRESSES:
        outside = [1 << reach, (1 << reach) + 0x1000, BASE << 8]
    else:
        half = 1 << reach - 1
        outside = [place + half, place - half - PAGE, place + 4 * half]
    for target in outside:
        with pytest.raises(NotLinkableError):
            ARM.kinds[kind].write(0, target, place)


@pytest.mark.parametrize("kind", [k for k, row in KINDS.items() if row[4] > 1])
def test_an_address_between_two_units_is_refused(kind: int) -> None:
    with pytest.raises(NotLinkableError):
        ARM.kinds[kind].write(0, BASE + 1, BASE)


@pytest.mark.parametrize("kind", SIGNED_MOVES)
def test_moves_of_signed_numbers_choose_movn_or_movz(kind: int) -> None:
    number, is_distance = SIGNED_MOVES[kind], kind >= 287
    movn, movz = 0x9280_0000, 0xD280_0000
    generator = random.Random(kind)
    limit = 1 << 16 * (number + 1)
    for _ in range(200):
        value = generator.randrange(-limit if number < 3 else -(1 << 63), limit if number < 3 else 1 << 63)
        place = BASE if is_distance else 0
        for before in (movn, movz):
            word = ARM.kinds[kind].write(before, value + place, place)
            assert word & ~(0xFFFF << 5) == (movn if value < 0 else movz)
            part = move(word, 0) << 16 * number
            found = ~part if value < 0 else part
            assert found >> 16 * number == value >> 16 * number
    if number < 3:
        for value in (limit, -limit - 1):
            with pytest.raises(NotLinkableError):
                ARM.kinds[kind].write(movz, value + (BASE if is_distance else 0), BASE if is_distance else 0)


PROGRAM = """
@constant = internal constant [4 x i64] [i64 2, i64 3, i64 5, i64 7]
@counter = internal global i64 40
@table = internal constant [2 x ptr] [ptr @first, ptr @second]
@elsewhere = external global i64
declare i64 @given(i64)
define internal i64 @first(i64 %x) { %r = add i64 %x, 1  ret i64 %r }
define internal i64 @second(i64 %x) { %r = mul i64 %x, 3  ret i64 %r }
define i64 @choose(i64 %i, i64 %x) {
  %p = getelementptr [2 x ptr], ptr @table, i64 0, i64 %i
  %f = load ptr, ptr %p
  %q = getelementptr [4 x i64], ptr @constant, i64 0, i64 %i
  %c = load i64, ptr %q
  %s = add i64 %c, %x
  %r = call i64 %f(i64 %s)
  ret i64 %r
}
define i64 @count() {
  %old = load i64, ptr @counter
  %far = load i64, ptr @elsewhere
  %new = add i64 %old, %far
  store i64 %new, ptr @counter
  ret i64 %new
}
define i64 @ask(i64 %x) { %r = call i64 @given(i64 %x)  %s = add i64 %r, 1  ret i64 %s }
define i64 @tail(i64 %x) { %r = tail call i64 @given(i64 %x)  ret i64 %r }
"""
MODELS: dict[str, dict[str, Any]] = {
    "for this process": {"jit": True},
    "exported": {"reloc": "pic", "codemodel": "small"},
}


@cache
def arm_object(model: str, text: str = PROGRAM) -> bytes:
    llvm = bindings.llvm()
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine = llvm.Target.from_triple("aarch64-unknown-linux-gnu").create_target_machine(
        cpu="generic", opt=1, **MODELS[model]
    )
    module = llvm.parse_assembly(text)
    module.triple = machine.triple
    return bytes(machine.emit_object(module))


@pytest.mark.parametrize("model", MODELS)
def test_every_place_of_a_program_means_its_symbol(model: str) -> None:
    """Each relocation of an object of LLVM's, read back from the image: the symbol, its cell, or the jump there."""
    file = ObjectFile(arm_object(model))
    linking = Linking(file, {"given": FAR, "elsewhere": FAR + 8}, ARM)
    addresses = linking.addresses(BASE)
    image = linking.content(addresses, BASE)
    checked = set()
    for relocation in file.relocations:
        name, _, decode, expected, _ = KINDS[relocation.kind]
        place = linking.address_of(relocation.section, BASE) + relocation.offset
        size = ARM.kinds[relocation.kind].size
        found = decode(int.from_bytes(image[place - BASE : place - BASE + size], "little"), place)
        symbol = addresses[relocation.symbol] + relocation.addend
        if ARM.kinds[relocation.kind].reach is Reach.CELL:
            cells = [at for at in range(0, 64, 16) if int.from_bytes(image[at : at + 8], "little") == symbol]
            assert any(found == expected(BASE + cell, place) for cell in cells)
        elif symbol in (FAR, FAR + 8) and name in ("CALL26", "JUMP26"):
            assert behind_the_jump(image, found - BASE) == symbol
        else:
            assert found == expected(symbol, place)
        checked.add(name)
    assert {"CALL26", "ABS64"} < checked
    assert ("MOVW_UABS_G0_NC" if model == "for this process" else "ADR_GOT_PAGE") in checked


def behind_the_jump(image: bytes, at: int) -> int:
    """Where two instructions of a cell go: `ldr x16, <address>` and `br x16`."""
    load, jump = struct.unpack_from("<II", image, at)
    assert load & 0xFF00_001F == 0x5800_0010
    assert jump == 0xD61F_0200
    literal = at + 4 * signed(bits(load, 23, 5), 19)
    return int.from_bytes(image[literal : literal + 8], "little")


def test_an_import_that_is_reached_twice_has_one_cell() -> None:
    image = Linking(ObjectFile(arm_object("for this process")), {"given": FAR, "elsewhere": 0}, ARM)
    content = image.content(image.addresses(BASE), BASE)
    assert content.count(FAR.to_bytes(8, "little")) == 1


def test_thread_local_data_is_refused() -> None:
    text = "@t = external thread_local global i64\ndefine i64 @f() { %v = load i64, ptr @t ret i64 %v }"
    with pytest.raises(NotLinkableError, match="relocation of kind"):
        Linking(ObjectFile(arm_object("exported", text)), {"t": 0}, ARM)


def test_code_of_another_machine_is_refused() -> None:
    with pytest.raises(NotLinkableError, match="machine 183"):
        Linking(ObjectFile(arm_object("exported")), {}, MACHINES["x86_64"])
