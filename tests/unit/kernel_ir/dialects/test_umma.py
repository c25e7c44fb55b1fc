"""UMMA instructions: names, which of them exist, layouts of CTAs, and the bits of their descriptors."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.places import places
from triptych.kernel_ir.dialects.smem_operands import K_MAJOR, MN_MAJOR, SmemOperand
from triptych.kernel_ir.dialects.umma import umma


@pytest.mark.parametrize(
    ("name", "majors", "bits"),
    [
        ("m128n256k16.f32.f16.f16.cta1", (0, 0), 0x08400010),
        ("m256n128k16.f32.bf16.bf16.cta2", (1, 0), 0x10208490),
        ("m128n128k8.f32.tf32.tf32.cta1", (0, 0), 0x08200910),
        ("m64n64k32.f32.e4m3.e5m2.cta1", (0, 1), 0x04110410),
        ("m128n64k32.f16.e4m3.e4m3.cta1", (0, 0), 0x08100000),
        ("m128n128k32.s32.s8.s8.cta1", (0, 0), 0x082004A0),
        ("m128n128k32.s32.u8.u8.cta1", (0, 0), 0x08200020),
        ("m128n128k32.f32.e4m3.e4m3.cta1.ue8m0x32", (0, 0), 0x08A00000),
        ("m128n256k64.f32.e2m1.e2m1.cta1.ue4m3x16", (0, 0), 0x08400480),
        ("m256n256k64.f32.e2m1.e2m1.cta2.ue8m0x32", (0, 0), 0x10C00480),
    ],
)
def test_instruction_descriptors(name: str, majors: tuple[int, int], bits: int) -> None:
    """As the public headers print them."""
    instruction = umma(name)
    assert instruction is not None
    assert instruction.name == name
    assert instruction.descriptor(*majors) == bits


@pytest.mark.parametrize(
    "name",
    [
        "m128n264k16.f32.f16.f16.cta1",
        "m128n12k16.f32.f16.f16.cta1",
        "m128n8k16.f32.f16.f16.cta2",
        "m128n256k8.f32.f16.f16.cta1",
        "m64n64k16.f32.f16.f16.cta2",
        "m256n64k16.f32.f16.f16.cta1",
        "m128n64k16.f32.f16.bf16.cta1",
        "m128n64k16.f16.bf16.bf16.cta1",
        "m128n64k32.f32.s8.s8.cta1",
        "m128n64k16.f32.f64.f64.cta1",
        "m128n64k16",
        "m64n64k32.f32.e4m3.e4m3.cta1.ue8m0x32",
        "m128n64k32.f16.e4m3.e4m3.cta1.ue8m0x32",
        "m128n64k32.f32.e4m3.e4m3.cta1.ue4m3x32",
        "m128n64k64.f32.e2m1.e2m1.cta1.ue4m3x32",
        "m128n64k64.f32.e2m1.e2m1.cta1",
    ],
)
def test_there_is_no_such_instruction(name: str) -> None:
    assert umma(name) is None


def test_a_pair_of_ctas_halves_the_rows_of_each_operand() -> None:
    pair, one = umma("m256n128k16.f32.f16.f16.cta2"), umma("m128n128k16.f32.f16.f16.cta1")
    assert pair is not None
    assert one is not None
    assert [str(tv) for tv in (pair.threads, pair.tv_a, pair.tv_b, pair.tv_c)] == [
        "2:1",
        "(2,(128,16)):(128,(1,256))",
        "(2,(64,16)):(64,(1,128))",
        "(2,(128,128)):(128,(1,256))",
    ]
    assert [str(tv) for tv in (one.threads, one.tv_a, one.tv_c)] == [
        "1:0",
        "(1,(128,16)):(0,(1,128))",
        "(1,(128,128)):(0,(1,128))",
    ]


@pytest.mark.parametrize("n", range(8, 257, 8))
def test_ctas_share_every_tile_out(n: int) -> None:
    """What the CTAs have of A, of B and of the sums is disjoint, and together the tile."""
    for m, ctas in ((64, 1), (128, 1), (128, 2), (256, 2)):
        instruction = umma(f"m{m}n{n}k16.f32.f16.f16.cta{ctas}")
        if instruction is None:
            assert n % (8 * ctas)
            continue
        for values, extent in ((instruction.tv_a, m * 16), (instruction.tv_b, n * 16), (instruction.tv_c, m * n)):
            assert (np.sort(places(values)) == np.arange(extent)).all()


@pytest.mark.parametrize(
    ("operand", "bits"),
    [
        (SmemOperand(K_MAJOR, 3, 16, 1024), 0x4000404000010000),
        (SmemOperand(K_MAJOR, 2, 16, 512), 0x8000402000010000),
        (SmemOperand(K_MAJOR, 1, 16, 256), 0xC000401000010000),
        (SmemOperand(K_MAJOR, 0, 2048, 128), 0x0000400800800000),
        (SmemOperand(MN_MAJOR, 3, 8192, 1024), 0x4000404002000000),
    ],
)
def test_descriptors_of_shared_memory(operand: SmemOperand, bits: int) -> None:
    assert operand.umma_descriptor() == bits
