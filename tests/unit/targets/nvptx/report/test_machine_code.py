"""Loops of SASS text: what belongs to them, also where the assembler has moved it away."""

from __future__ import annotations

from triptych.targets.nvptx.report.machine_code import loops

PLAIN = """
.text.kernel:
        /*0000*/                   MOV R1, c[0x0][0x28] ;
.L_x_0:
        /*0010*/                   LDG.E.128 R4, [R2.64] ;
        /*0020*/                   FFMA R4, R4, R5, R6 ;
        /*0030*/              @P0  BRA `(.L_x_0) ;
        /*0040*/                   EXIT ;
.L_x_1:
        /*0050*/                   BRA `(.L_x_1);
        /*0060*/                   NOP;
"""

MOVED = """
.text.kernel:
        /*0000*/                   MOV R1, c[0x0][0x28] ;
        /*0010*/                   BRA `(.L_x_1) ;
.L_x_0:
        /*0020*/                   LDGSTS.E.128 [R3], [R2.64] ;
        /*0030*/                   BRA `(.L_x_2) ;
.L_x_1:
        /*0040*/                   LDSM.16.M88.4 R4, [R2] ;
        /*0050*/              @!P0 BRA `(.L_x_0) ;
.L_x_2:
        /*0060*/                   HMMA.16816.F32 R4, R4, R5, R6 ;
        /*0070*/              @P1  BRA `(.L_x_1) ;
        /*0080*/                   EXIT ;
"""

NESTED = """
.text.kernel:
        /*0000*/                   MOV R1, c[0x0][0x28] ;
.L_x_0:
        /*0010*/                   IADD3 R4, R4, 0x1, RZ ;
.L_x_1:
        /*0020*/                   FFMA R4, R4, R5, R6 ;
        /*0030*/              @P0  BRA `(.L_x_1) ;
        /*0040*/              @P1  BRA `(.L_x_0) ;
        /*0050*/                   EXIT ;
"""

UNIFORM = """
.text.kernel:
        /*0000*/                   BRA.U !UP0, `(.L_x_1) ;
.L_x_0:
        /*0010*/                   UTCHMMA gdesc[UR20], gdesc[UR22], tmem[UR25], tmem[UR36], idesc[UR37], UP0 ;
        /*0020*/                   UTCBAR [UR8], URZ ;
        /*0030*/                   BRA.U UP1, `(.L_x_0) ;
.L_x_1:
        /*0040*/                   EXIT ;
"""


def test_a_branch_on_a_uniform_predicate_may_not_be_taken() -> None:
    """The code behind it is reached, and so are the loops there: the main loops of UMMAs."""
    (loop,) = loops(UNIFORM)
    assert loop.counts == {"UTCHMMA": 1, "UTCBAR": 1, "BRA.U": 1}


def test_a_loop_is_from_its_label_to_the_jump_back() -> None:
    (loop,) = loops(PLAIN)
    assert loop.function == "kernel"
    assert loop.counts == {"LDG.E.128": 1, "FFMA": 1, "BRA": 1}
    assert loop.number_of("LDG") == 1


def test_a_block_that_is_out_of_the_way_belongs_to_the_loop() -> None:
    (loop,) = loops(MOVED)
    assert loop.counts == {"LDSM.16.M88.4": 1, "BRA": 3, "LDGSTS.E.128": 1, "HMMA.16816.F32": 1}


def test_a_loop_has_the_loops_inside_of_it() -> None:
    outer, inner = loops(NESTED)
    assert (outer.size, inner.size) == (4, 2)


def test_no_loop() -> None:
    assert loops("") == []
    assert loops(".text.kernel:\n        /*0000*/                   EXIT ;") == []
