"""A dialect declared as data behaves like any other: verified, printed, moved, loaded once for each context."""

from __future__ import annotations

import time
from typing import Any

import pytest

from triptych.ir import bindings
from triptych.ir.dialect import AttributeSpec, Dialect, OperationSpec
from triptych.ir.errors import LoweringError
from triptych.ir.modules import operations_named
from triptych.ir.passes import run_passes, verify
from triptych.stages import PassSpec

TOY = Dialect(
    "toy",
    (
        OperationSpec("twice", ("i32",), ("i32",), pure=True),
        OperationSpec("pick", ("i1", "T", "T"), ("T",), pure=True),
        OperationSpec("send", ("f32",)),
        OperationSpec("now", (), ("i64",)),
        OperationSpec("shift", ("i32", "i32?"), ("i32",), attributes=(AttributeSpec("way", ('"left"', '"right"')),)),
        OperationSpec("flip", ("i32|f32",), ("i32|f32",), pure=True),
        OperationSpec("split", ("i32",), ("i32*",), attributes=(AttributeSpec("parts"),)),
    ),
)


@pytest.fixture
def context() -> Any:
    fresh = bindings.mlir().Context()
    TOY.load(fresh)
    return fresh


def parsed(context: Any, body: str) -> Any:
    text = f"func.func @f(%i: i32, %b: i1, %x: f32) -> i32 {{\n{body}\n}}"
    with context:
        return bindings.mlir().Module.parse(text, context)


def test_operations_are_verified_and_printed(context: Any) -> None:
    module = parsed(context, '%0 = "toy.twice"(%i) : (i32) -> i32\n"toy.send"(%x) : (f32) -> ()\nreturn %0 : i32')
    verify(module)
    assert '"toy.twice"(%arg0) : (i32) -> i32' in str(module)


@pytest.mark.parametrize(
    "line",
    [
        '%0 = "toy.twice"(%x) : (f32) -> i32',
        '%0 = "toy.twice"(%i, %i) : (i32, i32) -> i32',
        '"toy.send"(%i) : (i32) -> ()',
        '%0 = "toy.pick"(%b, %i, %x) : (i1, i32, f32) -> i32',
        '%0 = "toy.pick"(%b, %x, %x) : (i1, f32, f32) -> i32',
        '"toy.unknown"() : () -> ()',
        '%0 = "toy.shift"(%i) : (i32) -> i32',
        '%0 = "toy.shift"(%i) {way = "up"} : (i32) -> i32',
        '%0 = "toy.shift"(%i, %i, %i) {way = "left"} : (i32, i32, i32) -> i32',
        '%0 = "toy.shift"(%i, %x) {way = "left"} : (i32, f32) -> i32',
        '%0, %1 = "toy.split"(%i) {parts = 2} : (i32) -> (i32, f32)',
        '%0 = "toy.flip"(%b) : (i1) -> i1',
        '%0 = "toy.flip"(%i) : (i32) -> f32',
    ],
)
def test_malformed_operations_are_refused(context: Any, line: str) -> None:
    with pytest.raises(bindings.mlir().MLIRError):
        parsed(context, f"{line}\nreturn %i : i32")


def test_a_type_variable_is_any_one_type(context: Any) -> None:
    lines = [f'%{t} = "toy.pick"(%b, %{v}, %{v}) : (i1, {t}, {t}) -> {t}' for v, t in (("i", "i32"), ("x", "f32"))]
    verify(parsed(context, "\n".join([*lines, "return %i32 : i32"])))


def test_a_choice_is_one_of_its_types(context: Any) -> None:
    lines = [f'%{t} = "toy.flip"(%{v}) : ({t}) -> {t}' for v, t in (("i", "i32"), ("x", "f32"))]
    verify(parsed(context, "\n".join([*lines, "return %i32 : i32"])))


def test_operands_that_may_be_left_out_and_any_number_of_results(context: Any) -> None:
    lines = [
        '%0 = "toy.shift"(%i) {way = "left"} : (i32) -> i32',
        '%1 = "toy.shift"(%i, %0) {way = "right"} : (i32, i32) -> i32',
        '%2:3 = "toy.split"(%i) {parts = 3} : (i32) -> (i32, i32, i32)',
        '"toy.split"(%i) {parts = 0} : (i32) -> ()',
    ]
    verify(parsed(context, "\n".join([*lines, "return %2#2 : i32"])))


def test_pure_operations_are_dropped_and_others_stay(context: Any) -> None:
    unused = '%0 = "toy.twice"(%i) : (i32) -> i32\n%1 = "toy.now"() : () -> i64\nreturn %i : i32'
    module = parsed(context, unused)
    run_passes(module, (PassSpec("cse", "Drops what nobody uses and has no effect."),))
    assert not operations_named(module, "toy.twice")
    assert operations_named(module, "toy.now")


def test_loading_again_and_in_another_context() -> None:
    for _ in range(2):
        context = bindings.mlir().Context()
        TOY.load(context)
        TOY.load(context)
        verify(parsed(context, "return %i : i32"))


def test_unregistered_operations_are_an_error_at_their_place() -> None:
    context = bindings.mlir().Context()
    with context, bindings.mlir().Location.unknown():
        context.allow_unregistered_dialects = True
        module = bindings.mlir().Module.parse('"nobody.knows"() : () -> ()')
        context.allow_unregistered_dialects = False
    with pytest.raises(LoweringError, match="malformed"):
        verify(module)


def test_reading_an_operation_does_not_search_for_its_class(context: Any) -> None:
    """The bindings look for a Python module per dialect at every access unless they know that there is none."""
    line = '%{0} = "toy.twice"(%i) : (i32) -> i32'
    module = parsed(context, "\n".join([*(line.format(i) for i in range(500)), "return %0 : i32"]))
    block = module.body.operations[0].regions[0].blocks[0]
    started = time.process_time()
    names = [operation.operation.name for operation in block.operations]
    assert len(names) == 501
    assert (time.process_time() - started) / len(names) < 20e-6
