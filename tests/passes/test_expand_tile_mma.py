"""`expand-tile-mma`: which registers every matrix instruction takes, in which order, and where its results go."""

from __future__ import annotations

from typing import Any

import pytest

from tests.passes.running import checked, lowered_kernel, parsed
from triptych.ir import bindings
from triptych.ir.modules import operations_named
from triptych.ir.passes import verify
from triptych.kernel_ir.dialects.mma import WARP_MMAS
from triptych.targets.nvptx.description.architectures import ARCHITECTURES
from triptych.targets.nvptx.passes.expand_tile_mma import expanding_mma, halves_of_registers, written_as

FP8 = "m16n8k32.f32.e4m3.e5m2.f32"


def table(name: str, count: int, first: int) -> str:
    return f"{name} = array<i64: {', '.join(str(first + i) for i in range(count))}>"


def program(
    instruction: str, tiles: tuple[int, int, int], registers: tuple[int, int, int], element: str = "f16"
) -> str:
    """Registers of D begin at 0, of A at 100, of B at 200, of C at 300."""
    m, n, k = tiles
    of_a, of_b, of_c = registers
    arrays = "\n".join(
        f"%{name} = llvm.alloca %size x {element if name in 'ab' else 'f32'} : (i32) -> !llvm.ptr" for name in "dabc"
    )
    tables = [table("d", m * n * of_c, 0), table("a", m * k * of_a, 100)]
    tables += [table("b", n * k * of_b, 200), table("c", m * n * of_c, 300), f"tiles = array<i64: {m}, {n}, {k}>"]
    pointers = ", ".join(["!llvm.ptr"] * 4)
    return lowered_kernel(
        f"""
        %size = llvm.mlir.constant(999 : i32) : i32
        {arrays}
        "tile.mma"(%d, %a, %b, %c) {{instruction = "{instruction}", {", ".join(tables)}}} : ({pointers}) -> ()
        llvm.return
        """
    )


def traced(text: str, architecture: str = "sm_80") -> list[str]:
    """Loads, matrix instructions and stores by what they move: `a100` is a register, `#1.2` a result."""
    module = parsed(text)
    with module.context:
        expanding_mma(ARCHITECTURES[architecture])(module)
    verify(module)
    (function,) = operations_named(module, "llvm.func")
    said: dict[Any, str] = {}
    steps: list[str] = []
    arrays = iter("dabc")
    count = 0
    for operation in function.regions[0].blocks[0].operations:
        operands = [said.get(operand, "?") for operand in operation.operands]
        match operation.operation.name:
            case "llvm.alloca":
                said[operation.result] = next(arrays)
            case "llvm.getelementptr":
                (place,) = bindings.mlir().DenseI32ArrayAttr(operation.attributes["rawConstantIndices"])
                said[operation.result] = f"{operands[0]}{place}"
            case "llvm.load":
                said[operation.result] = operands[0]
                steps.append(f"load {operands[0]}")
            case "nvvm.mma.sync":
                said[operation.result] = f"#{count}"
                count += 1
                steps.append("mma " + " ".join(operands))
            case "llvm.extractvalue":
                (place,) = bindings.mlir().DenseI64ArrayAttr(operation.attributes["position"])
                said[operation.result] = f"{operands[0]}.{place}"
            case "llvm.store":
                steps.append(f"store {operands[0]} {operands[1]}")
    return steps


def test_one_instruction() -> None:
    assert traced(program("m16n8k8.f16.f16.f16.f16", (1, 1, 1), (2, 1, 2))) == [
        *("load c300", "load c301", "load a100", "load a101", "load b200"),
        "mma a100 a101 b200 c300 c301",
        *("store #0.0 d0", "store #0.1 d1"),
    ]


def test_tiles_go_along_m_forth_and_back() -> None:
    steps = traced(program("m16n8k8.f16.f16.f16.f16", (2, 3, 1), (2, 1, 2)))
    assert [step for step in steps if step.startswith("mma")] == [
        "mma a100 a101 b200 c300 c301",
        "mma a102 a103 b200 c302 c303",
        "mma a102 a103 b201 c306 c307",
        "mma a100 a101 b201 c304 c305",
        "mma a100 a101 b202 c308 c309",
        "mma a102 a103 b202 c310 c311",
    ]
    assert steps[-12:-4:2] == ["store #0.0 d0", "store #1.0 d2", "store #3.0 d4", "store #2.0 d6"]


def test_the_next_k_goes_on_with_the_sums() -> None:
    steps = traced(program("m16n8k8.f16.f16.f16.f16", (2, 1, 2), (2, 1, 2)))
    assert steps == [
        *("load c300", "load c301", "load c302", "load c303"),
        *("load a100", "load a101", "load a102", "load a103", "load b200"),
        *("mma a100 a101 b200 c300 c301", "mma a102 a103 b200 c302 c303"),
        *("load a104", "load a105", "load a106", "load a107", "load b201"),
        *("mma a104 a105 b201 #0.0 #0.1", "mma a106 a107 b201 #1.0 #1.1"),
        *("store #2.0 d0", "store #2.1 d1", "store #3.0 d2", "store #3.1 d3"),
    ]


@pytest.mark.parametrize(
    ("instruction", "registers", "element", "expected"),
    [
        (
            "m16n8k16.f32.f16.f16.f32",
            (4, 2, 4),
            "f16",
            """
            # CHECK: llvm.load {{.*}} {alignment = 4 : i64} : !llvm.ptr -> f32
            # CHECK: llvm.load {{.*}} {alignment = 4 : i64} : !llvm.ptr -> vector<2xf16>
            # CHECK: nvvm.mma.sync A[%17, %18, %19, %20] B[%23, %24] C[%9, %10, %11, %12]
            # CHECK: layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>
            # CHECK: shape = #nvvm.shape<m = 16, n = 8, k = 16>
            # CHECK-NOT: intOverflow
            # CHECK: llvm.store {{.*}} {alignment = 4 : i64} : f32, !llvm.ptr
            """,
        ),
        (
            "m16n8k16.f32.bf16.bf16.f32",
            (4, 2, 4),
            "bf16",
            "# CHECK: -> f32\n# CHECK: -> i32\n# CHECK: multiplicandAPtxType = #nvvm.mma_type<bf16>",
        ),
        (
            "m16n8k32.s32.s8.u8.s32",
            (4, 2, 4),
            "i8",
            """
            # CHECK: -> i32
            # CHECK: intOverflowBehavior = #nvvm.mma_int_overflow<wrapped>
            # CHECK: multiplicandAPtxType = #nvvm.mma_type<s8>
            # CHECK: multiplicandBPtxType = #nvvm.mma_type<u8>
            """,
        ),
    ],
)
def test_words_and_registers(instruction: str, registers: tuple[int, int, int], element: str, expected: str) -> None:
    run = expanding_mma(ARCHITECTURES["sm_80"])
    text = program(instruction, (1, 1, 1), registers, element)
    checked(text, run, f"# CHECK-NOT: tile.mma\n{expected}\n# CHECK-NOT: tile.mma")


def test_offsets_count_elements_of_the_array() -> None:
    checked(
        program("m16n8k16.f32.f16.f16.f32", (1, 1, 1), (4, 2, 4)),
        expanding_mma(ARCHITECTURES["sm_80"]),
        """
        # CHECK: llvm.getelementptr {{.*}}[300] : (!llvm.ptr) -> !llvm.ptr, f32
        # CHECK: llvm.getelementptr {{.*}}[100] : (!llvm.ptr) -> !llvm.ptr, f16
        # CHECK: llvm.getelementptr {{.*}}[200] : (!llvm.ptr) -> !llvm.ptr, f16
        """,
    )


@pytest.mark.parametrize("architecture", ["sm_89", "sm_120a"])
def test_fp8_where_a_warp_multiplies_it(architecture: str) -> None:
    steps = traced(program(FP8, (1, 1, 1), (4, 2, 4), "i8"), architecture)
    assert [step for step in steps if step.startswith("mma")] == [
        "mma a100 a101 a102 a103 b200 b201 c300 c301 c302 c303"
    ]


@pytest.mark.parametrize("architecture", ["sm_90", "sm_100a", "sm_103a"])
def test_fp8_as_two_products_of_f16(architecture: str) -> None:
    text = program(FP8, (1, 1, 1), (4, 2, 4), "i8")
    steps = traced(text, architecture)
    assert [step for step in steps if step.startswith("mma")] == [
        "mma ? ? ? ? ? ? c300 c301 c302 c303",
        "mma ? ? ? ? ? ? #0.0 #0.1 #0.2 #0.3",
    ]
    checked(
        text,
        expanding_mma(ARCHITECTURES[architecture]),
        """
        # CHECK: llvm.bitcast {{.*}} : i32 to vector<2xi16>
        # CHECK-NEXT: llvm.mlir.constant(0 : i32)
        # CHECK-NEXT: llvm.extractelement
        # CHECK-NEXT: llvm.call_intrinsic "llvm.nvvm.e4m3x2.to.f16x2.rn"({{.*}}) : (i16) -> vector<2xf16>
        # CHECK: llvm.mlir.constant(0 : i32)
        # CHECK: llvm.mlir.constant(1 : i32)
        # CHECK: "llvm.nvvm.e5m2x2.to.f16x2.rn"
        # CHECK: nvvm.mma.sync
        # CHECK: shape = #nvvm.shape<m = 16, n = 8, k = 16>
        """,
    )


def test_halves_of_registers() -> None:
    assert halves_of_registers(4) == [[(0, 0), (1, 0), (0, 1), (1, 1)], [(2, 0), (3, 0), (2, 1), (3, 1)]]
    assert halves_of_registers(2) == [[(0, 0), (0, 1)], [(1, 0), (1, 1)]]


def test_which_instruction_is_written() -> None:
    halves = WARP_MMAS["m16n8k16.f32.f16.f16.f32"]
    for name in ("sm_90", "sm_90a", "sm_100a", "sm_103a"):
        assert written_as(WARP_MMAS[FP8], ARCHITECTURES[name]) is halves
        assert written_as(WARP_MMAS["m16n8k16.f32.bf16.bf16.f32"], ARCHITECTURES[name]) is not halves
    for name in ("sm_89", "sm_120a"):
        assert written_as(WARP_MMAS[FP8], ARCHITECTURES[name]) is WARP_MMAS[FP8]


def test_products_with_block_scales() -> None:
    """Scales are as many bytes as an instruction takes, in the low bits of a register."""
    arrays = "\n".join(
        f"%{name} = llvm.alloca %size x {'f32' if name in 'dc' else 'i8'} : (i32) -> !llvm.ptr"
        for name in ("d", "a", "b", "c", "sfa", "sfb")
    )
    tables = [table("d", 4, 0), table("a", 4, 100), table("b", 2, 200), table("c", 4, 300)]
    tables += [table("sfa", 1, 8), table("sfb", 1, 16), "tiles = array<i64: 1, 1, 1>"]
    instruction = "m16n8k64.mxf4.scale.2x.f32.e2m1.e2m1.f32.ue8m0"
    text = lowered_kernel(
        f"""
        %size = llvm.mlir.constant(999 : i32) : i32
        {arrays}
        "tile.mma_block_scale"(%d, %a, %b, %c, %sfa, %sfb) {{instruction = "{instruction}", {", ".join(tables)}}}
          : ({", ".join(["!llvm.ptr"] * 6)}) -> ()
        llvm.return
        """
    )
    checked(
        text,
        expanding_mma(ARCHITECTURES["sm_120a"]),
        """
        # CHECK-NOT: tile.mma
        # CHECK: llvm.getelementptr {{.*}}[8] : (!llvm.ptr) -> !llvm.ptr, i8
        # CHECK-NEXT: llvm.load {{.*}} {alignment = 2 : i64} : !llvm.ptr -> i16
        # CHECK-NEXT: llvm.zext {{.*}} : i16 to i32
        # CHECK: llvm.getelementptr {{.*}}[16] : (!llvm.ptr) -> !llvm.ptr, i8
        # CHECK: llvm.call_intrinsic "llvm.nvvm.mma.block.scale.m16n8k64.row.col.mxf4.scale.2x.f32.e2m1.e2m1.f32.ue8m0"
        # CHECK: llvm.store {{.*}} {alignment = 4 : i64} : f32, !llvm.ptr
        # CHECK-NOT: tile.mma
        """,
    )


def test_other_functions_are_not_read() -> None:
    text = lowered_kernel("llvm.return")
    checked(text, expanding_mma(ARCHITECTURES["sm_80"]), "# CHECK: llvm.return\n# CHECK-NOT: mma")
