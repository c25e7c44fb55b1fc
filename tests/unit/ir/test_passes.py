from __future__ import annotations

import gc
from typing import Any

import pytest

from triptych.ir import bindings, passes
from triptych.ir.bindings import context
from triptych.ir.errors import LoweringError
from triptych.ir.modules import append_ir, copy_module, symbols, text_constant
from triptych.ir.passes import PassRecord, run_passes
from triptych.stages import PassSpec


def parse(text: str) -> Any:
    return bindings.mlir().Module.parse(text, context=context())


LOOP = """
func.func @f(%n: index) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  scf.for %i = %zero to %n step %one { }
  return
}
"""


def test_upstream_passes_and_callables_run_in_order() -> None:
    module = parse(LOOP)
    seen: list[str] = []

    def look(given: Any) -> None:
        seen.append("scf" if "scf.for" in str(given) else "cf")

    run_passes(
        module,
        (
            PassSpec("before", "", look),
            PassSpec("canonicalize{region-simplify=disabled}", "", None),
            PassSpec("convert-scf-to-cf", ""),
            PassSpec("after", "", look),
        ),
    )
    assert seen[1] == "cf"


def test_a_callable_is_called_only_where_there_is_something_for_it() -> None:
    called: list[str] = []

    def looking_for(operation: str) -> PassSpec:
        return PassSpec(operation, "", lambda _: called.append(operation), frozenset({operation}))

    specs = [looking_for(operation) for operation in ("scf.for", "cf.cond_br", "scf.while")]
    run_passes(parse(LOOP), (*specs, PassSpec("convert-scf-to-cf", ""), *specs))
    assert called == ["scf.for", "cf.cond_br"]


@pytest.mark.parametrize(("changes", "walks"), [(None, 2), (True, 2), (False, 1)])
def test_names_are_looked_for_again_only_after_a_change(
    changes: bool | None, walks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    walked: list[object] = []

    def names(module: object) -> frozenset[str]:
        walked.append(module)
        return frozenset({"scf.for"})

    monkeypatch.setattr(passes, "operation_names", names)
    looking = PassSpec("looking", "", lambda _: changes, frozenset({"scf.for"}))
    run_passes(parse(LOOP), (looking, looking))
    assert len(walked) == walks


def test_an_observer_sees_every_pass_with_its_result() -> None:
    records: list[PassRecord] = []
    run_passes(parse(LOOP), (PassSpec("convert-scf-to-cf", ""), PassSpec("convert-to-llvm", "")), records.append)
    assert [record.names for record in records] == [("convert-scf-to-cf",), ("convert-to-llvm",)]
    assert "cf.cond_br" in records[0].text
    assert "llvm.cond_br" in records[1].text
    assert all(record.seconds > 0 for record in records)


def test_malformed_ir_is_an_error_at_the_python_line_before_a_pass_can_crash_on_it() -> None:
    module = parse(LOOP)
    ir = bindings.mlir()

    def break_it(given: Any) -> None:
        entry = given.body.operations[0].regions[0].blocks[0]
        with given.context, ir.InsertionPoint.at_block_begin(entry):
            number = ir.Operation.create(
                "arith.constant",
                results=[ir.F32Type.get()],
                attributes={"value": ir.FloatAttr.get_f32(1.0)},
                loc=ir.Location.unknown(),
            ).result
            where = ir.Location.callsite(ir.Location.file("helper.py", 3, 5), [ir.Location.file("kernel.py", 20, 9)])
            ir.Operation.create("arith.addi", operands=[number, number], results=[ir.F32Type.get()], loc=where)

    with pytest.raises(LoweringError) as caught:
        run_passes(module, (PassSpec("break", "", break_it), PassSpec("convert-scf-to-cf", "")))
    assert str(caught.value.span) == "helper.py:3:5"
    assert [str(span) for _, span in caught.value.related] == ["kernel.py:20:9"]
    assert "arith.addi" in caught.value.found


def test_a_pass_that_refuses_speaks_at_the_python_line() -> None:
    text = """
func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = tosa.tanh %a : (tensor<4xf32>) -> tensor<4xf32> loc("kernel.py":12:5)
  return %0 : tensor<4xf32>
}
"""
    with pytest.raises(LoweringError, match="one-shot-bufferize") as caught:
        run_passes(parse(text), (PassSpec("one-shot-bufferize", ""),))
    assert str(caught.value.span) == "kernel.py:12:5"


def test_a_pass_list_with_an_unknown_name_is_refused() -> None:
    with pytest.raises(LoweringError, match="no-such-pass"):
        run_passes(parse(LOOP), (PassSpec("no-such-pass", ""),))


def test_a_copy_is_independent_of_the_original() -> None:
    module = parse(LOOP)
    before = str(module)
    copy = copy_module(module)
    assert str(copy) == before
    run_passes(copy, (PassSpec("convert-scf-to-cf", ""), PassSpec("convert-to-llvm", "")))
    assert str(module) == before
    assert str(copy) != before


def test_appended_text_joins_the_module_and_survives_passes() -> None:
    module = parse(LOOP)
    append_ir(module, "llvm.func @g()\nllvm.func @h() { llvm.call @g() : () -> () llvm.return }\n")
    append_ir(module, "llvm.func @g()\nllvm.func @k()\n")
    run_passes(module, (PassSpec("convert-scf-to-cf", ""), PassSpec("convert-to-llvm", "")))
    assert list(symbols(module)) == ["f", "g", "h", "k"]


@pytest.mark.parametrize("text", ["plain", 'quote " and \\ backslash', "tab\tline\n\x1f", "ümlaut → ✓", "%d\0inside"])
def test_text_constants_keep_every_byte(text: str) -> None:
    module = parse(text_constant("t", text))
    value = symbols(module)["t"].attributes["value"].value_bytes
    assert value == text.encode() + b"\0"


def test_callables_that_say_what_they_add_leave_no_doubt_about_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    """The operations of a module are looked at once, not again after each of them."""
    looked: list[str] = []
    called: list[str] = []

    def names(module: Any) -> frozenset[str]:
        looked.append("all")
        return frozenset({"scf.for"})

    def call(name: str) -> Any:
        return lambda module: called.append(name)

    monkeypatch.setattr("triptych.ir.passes.operation_names", names)
    loops, added, other = (frozenset({name}) for name in ("scf.for", "arith.addi", "arith.muli"))
    run_passes(
        parse(LOOP),
        (
            PassSpec("first", "", call("first"), loops, added),
            PassSpec("of what was added", "", call("of what was added"), added, frozenset()),
            PassSpec("of nothing", "", call("of nothing"), other),
            PassSpec("may add anything", "", call("may add anything"), loops),
            PassSpec("last", "", call("last"), loops),
        ),
    )
    assert called == ["first", "of what was added", "may add anything", "last"]
    assert len(looked) == 2


def test_nothing_collects_garbage_while_passes_run() -> None:
    """What they make lives until they end: looking through it took a tenth of their time."""
    collecting: list[bool] = []
    run_passes(parse(LOOP), (PassSpec("look", "", lambda module: collecting.append(gc.isenabled())),))
    assert collecting == [False]
    assert gc.isenabled()
