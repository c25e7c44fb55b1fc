"""Sanitizer findings, native code: those of one kind at one pair of lines are one, counted, with three examples."""

from __future__ import annotations

from triptych.targets.cpu.abi.abi import CHECK_COLLECT, CHECK_DISCARD
from triptych.targets.cpu.sanitizer import shadow_layout as at
from triptych.targets.cpu.sanitizer.llvm_writer import Function, Number, lock, named, unlock

RECORD = "triptych_check_record"
PEEK = "triptych_check_peek"
REPORT = "triptych_check_report"
"""The Python function that a launch reports its findings to."""

GLOBALS = f"""
@findings = internal global [{at.FINDING_BYTES * at.MOST_FINDINGS} x i8] zeroinitializer, align 64
@finding_count = internal global i32 0
@finding_lock = internal global i32 0
@{REPORT} = external global i8
@report_format = internal constant [5 x i8] c"KKII\\00"
declare i32 @PyGILState_Ensure()
declare void @PyGILState_Release(i32)
declare void @Py_DecRef(ptr)
declare ptr @PyObject_CallFunction(ptr, ptr, ...)
declare ptr @memcpy(ptr, ptr, i64)
declare ptr @memmove(ptr, ptr, i64)
declare i32 @memcmp(ptr, ptr, i64)
"""
_COUNT, _FINDINGS, _LOCK = "@finding_count", "@findings", "@finding_lock"


def finding_code() -> str:
    """All functions of this file."""
    return GLOBALS + _record() + _collect() + _discard() + _peek()


def _record() -> str:
    """`record(state, kind, site before, site now, thread before, thread now, byte)`."""
    names = ("kind", "before", "now", "first", "second", "byte")
    f = Function(RECORD, "void", [("state", "ptr"), *((name, "i32") for name in names)], "noinline cold")
    state, kind, before, now, first, second, byte = f.parameters
    key = (kind.to("i64") << 40) | (before.to("i64") << 20) | now.to("i64")
    table = f.load("i64", f.at(state, at.TABLE, "i8"))
    findings = named(f, _FINDINGS)
    lock(f, named(f, _LOCK))
    count = f.load("i32", named(f, _COUNT))
    place = f.variable("i32", 0)
    with f.during(lambda: (place.now < count) & _is_other(f, findings, place.now, key, table)):
        place.set(place.now + 1)
    with f.when(place.now < at.MOST_FINDINGS):
        entry = f.at(findings, place.now.to("i64") * at.FINDING_BYTES, "i8")
        with f.when(place.now.equals(count)):
            f.store(key, entry)
            f.store(table, f.at(entry, 1, "i64"))
            f.store(f.number(0, "i64"), f.at(entry, 2, "i64"))
            f.store(f.number(0, "i64"), f.at(entry, at.CROSSINGS, "i8"))
            f.store(count + 1, named(f, _COUNT))
        seen = f.load("i64", f.at(entry, 2, "i64"))
        f.store(seen + 1, f.at(entry, 2, "i64"))
        lanes = f.load("i32", f.at(state, at.LANES, "i8"))
        apart, crossings = (first >> lanes).differs(second >> lanes), f.at(entry, at.CROSSINGS, "i8")
        f.store(f.load("i64", crossings) + apart.to("i64"), crossings)
        with f.when(seen < at.EXAMPLES):
            example = f.at(entry, seen * 8 + 6, "i32")
            for i in range(3):
                f.store(f.load("i32", f.at(state, at.BLOCK + 4 * i, "i8")), f.at(example, i, "i32"))
            for i, value in enumerate((first, second, byte, f.load("i32", f.at(state, at.EPOCH, "i8")))):
                f.store(value, f.at(example, 3 + i, "i32"))
            f.store(_other_block(f, state), f.at(example, 7, "i32"))
    unlock(f, named(f, _LOCK))
    f.line("ret void")
    return f.text()


def _other_block(f: Function, state: Number) -> Number:
    """Where the block of the other side is, if it is another one."""
    other = f.load("i32", f.at(state, at.OTHER_BLOCK, "i8"))
    place = f.load("i32", f.at(named(f, "@block_places"), other & 0xFFFF, "i32"))
    return f.select(other.equals(0), 0, f.select(other.equals(at.MANY_BLOCKS), 1, place, "i32"), "i32")


def _is_other(f: Function, findings: Number, place: Number, key: Number, table: Number) -> Number:
    entry = f.at(findings, place.to("i64") * at.FINDING_BYTES, "i8")
    same_key = f.load("i64", entry).equals(key)
    return (same_key & f.load("i64", f.at(entry, 1, "i64")).equals(table)) ^ 1


def _collect() -> str:
    """`collect(table)`: after a launch. Reports to Python what code with this table found; gives what a call gives."""
    f = Function(CHECK_COLLECT, "i32", [("table", "ptr")], "noinline")
    (table,) = f.parameters
    skipped = f.call("triptych_check_end_launch", "i32", ())
    with f.when((f.load("i32", named(f, _COUNT)) | skipped).equals(0)):
        f.give(0, "i32")
    lock = f.call("PyGILState_Ensure", "i32", ())
    count = f.load("i32", named(f, _COUNT))
    numbers = f"i32 {count.name}, i32 {skipped.name}"
    arguments = f"ptr @{REPORT}, ptr @report_format, ptr {_FINDINGS}, ptr {table.name}, {numbers}"
    reported = f.made(f"call ptr (ptr, ptr, ...) @PyObject_CallFunction({arguments})", "ptr")
    f.call("Py_DecRef", "void", [reported])
    _forget(f, table)
    f.call("PyGILState_Release", "void", [lock])
    raised = f.compared("eq", reported, named(f, "null"))
    f.line(f"ret i32 {f.select(raised, -2, 0, 'i32').name}")
    return f.text()


def _discard() -> str:
    """`discard(table, status)`: a launch that an error has ended reports that error; the next one begins anew."""
    f = Function(CHECK_DISCARD, "void", [("table", "ptr"), ("status", "i32")], "noinline")
    table, status = f.parameters
    with f.when(status.differs(0)):
        f.call("triptych_check_end_launch", "i32", ())
        _forget(f, table)
    f.line("ret void")
    return f.text()


def _peek() -> str:
    """`peek(into)`: where the findings are, and how many, while launches go on."""
    f = Function(PEEK, "void", [("into", "ptr")], "noinline")
    (into,) = f.parameters
    f.store(named(f, _FINDINGS).to("i64"), into)
    f.store(f.load("i32", named(f, _COUNT)).to("i64"), f.at(into, 1, "i64"))
    f.line("ret void")
    return f.text()


def _forget(f: Function, table: Number) -> None:
    """Keep the findings of other code only."""
    lock(f, named(f, _LOCK))
    kept = f.variable("i32", 0)
    findings, wanted = named(f, _FINDINGS), table.to("i64")
    with f.count(0, f.load("i32", named(f, _COUNT))) as i:
        entry = f.at(findings, i.to("i64") * at.FINDING_BYTES, "i8")
        with f.when(f.load("i64", f.at(entry, 1, "i64")).differs(wanted)):
            place = f.at(findings, kept.now.to("i64") * at.FINDING_BYTES, "i8")
            f.call("memcpy", "ptr", [place, entry, f.number(at.FINDING_BYTES, "i64")])
            kept.set(kept.now + 1)
    f.store(kept.now, named(f, _COUNT))
    unlock(f, named(f, _LOCK))
