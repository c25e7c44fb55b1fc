"""Spin locks on words of the checkers' own memory: what is locked takes nanoseconds, so whoever waits spins."""

from __future__ import annotations

from triptych.targets.cpu.sanitizer.llvm_writer import Function, Number


def named(f: Function, name: str) -> Number:
    """A global variable, a value of this function, or `null`."""
    return Number(f, name, "ptr")


def lock(f: Function, place: Number) -> None:
    """Wait until nobody has it, and take it; whoever waits only looks, so that the other can go on."""
    with (
        f.during(lambda: f.made(f"atomicrmw xchg ptr {place.name}, i32 1 acquire", "i32").differs(0)),
        f.during(lambda: f.made(f"load atomic i32, ptr {place.name} monotonic, align 4", "i32").differs(0)),
    ):
        pass


def unlock(f: Function, place: Number) -> None:
    """Leave it."""
    f.line(f"store atomic i32 0, ptr {place.name} release, align 4")
