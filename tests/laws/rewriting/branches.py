"""Branches, conditions, and variables that only some paths assign."""

from __future__ import annotations

PROGRAMS = """
### if without else
def f(n):
    x = 1
    if n > 1:
        x = say(2)
    return x

### if elif else
def f(n):
    if n < 0:
        kind = "negative"
    elif n == 0:
        kind = "zero"
    elif n == 1:
        kind = "one"
    else:
        kind = "many"
    return kind

### nested branches
def f(n, m):
    if n > m:
        if n > 2:
            x = n - m
        else:
            x = m
            if m:
                x += 1
    else:
        if m > 3:
            x = 10 * m
        elif n:
            x = -n
        else:
            x = 0
    return x

### definition joined from both branches
def f(n):
    if n % 2:
        a, b = n, -n
    else:
        b, a = n, 1
    return a, b

### used where one path leaves it undefined
def f(n):
    if n > 0:
        x = n
    say("between")
    return x

### undefined in a nested branch
def f(n, m):
    if n > 0:
        if m > 0:
            x = 1
        y = 2
    else:
        y = 3
    if n > 0 and m > 0:
        return x + y
    return y + x

### undefined and then defined later
def f(n):
    if n > 0:
        x = n
    y = say(7)
    if n <= 0:
        x = y
    return x

### read before any assignment
def f(n):
    y = x + 1
    x = n
    return y

### undefined name in an augmented assignment
def f(n):
    if n > 1:
        total = 5
    total += n
    return total

### global that is not there
def f(n):
    if n:
        return nowhere
    return n

### branch that only has a pass
def f(n):
    if n:
        pass
    else:
        pass
    return n

### truth of objects
class Loud:
    def __init__(self, truth):
        self.truth = truth
    def __bool__(self):
        say("asked")
        if self.truth is None:
            raise ValueError("no truth")
        return self.truth
def f(n):
    truth = (True, False, None)[n % 3]
    if Loud(truth):
        return 1
    return 2 if Loud(truth) else 3

### short circuit of and and or
def f(n, m):
    a = say(n) and say(m)
    b = say(n) or say(m)
    c = say(n) and say(m) or say(3)
    d = say(n) or say(m) and say(4) or say(0)
    return a, b, c, d

### operands of and and or are returned, not their truth
def f(n):
    return n and "", n or (), [] or n, 0 and n, (n and 2) or [n]

### not
def f(n):
    return not n, not not n, not (n and say(1)), not (n > 1 or n < -1)

### ternary
def f(n, m):
    return say(n) if say(m) else say(-n) if n > 0 else say("last")

### chained comparison
def f(n, m):
    return say(0) < say(n) < say(m) < say(4), say(n) == say(m) != say(1), 0 <= n <= m

### comparison that does not give a bool
class Odd:
    def __init__(self, value):
        self.value = value
    def __lt__(self, other):
        say(("lt", self.value, other.value))
        return [self.value] if self.value < other.value else []
def f(n, m):
    return Odd(n) < Odd(m) < Odd(3)

### identity and membership
def f(n):
    return n in (1, 2), n not in (1, 2), n is None, n is not None, n in [0] in [[0]], None is None is not n

### membership in a user container
class Box:
    def __contains__(self, item):
        return say(item) or 5
def f(n):
    return n in Box(), n not in Box(), 1 in Box() in (True,)

### walrus in a condition
def f(n):
    if (half := n // 2) > 0:
        return half
    return -half

### walrus in lazy operands
def f(n, m):
    if n > 0 and (a := say(m)) > 1:
        return a
    return a if n > 0 else "unset"

### walrus on one side of an or
def f(n):
    known = n > 1 or (w := say(n + 10))
    return known, w

### walrus in a ternary
def f(n):
    x = (y := say(1)) if n > 0 else (y := say(2))
    z = (p := 5) if n > 1 else 6
    return x, y, z, p

### walrus in a chained comparison
def f(n):
    ok = 0 < n < (limit := say(3))
    return ok, limit

### walrus in a call, a subscript, a display and a slice
def f(n):
    a = abs((b := n))
    c = (1, 2, 3, 4)[(d := n % 3)]
    e = [(g := n), g + 1, {(h := g): h}]
    i = (1, 2, 3)[(j := n % 2) : (k := 3)]
    return a, b, c, d, e, g, h, i, j, k

### walrus in an assert and a return
def f(n):
    assert (a := n) < 3, (b := "large")
    return (c := a + 1) + c

### assert
def f(n):
    assert n > 0, say("not positive")
    assert n != 2
    assert say(n), "never"
    return n

### match on values
def f(n):
    match n:
        case 0:
            r = "zero"
        case 1 | 2:
            r = "few"
        case int() as k if k < 0:
            r = -k
        case _:
            r = "many"
    return r

### match on shapes
class Point:
    __match_args__ = ("x", "y")
    def __init__(self, x, y):
        self.x, self.y = x, y
def f(n, m):
    subject = [(n, m), [n, m, 7], {"a": n, "b": m}, Point(n, m), "text", {}][(n * m) % 6]
    match subject:
        case (a, b) if a == b:
            return "pair", a
        case [first, *rest]:
            return first, rest
        case {"a": 1, **others}:
            return others
        case {"a": a}:
            return a
        case Point(x, y=0):
            return "axis", x
        case Point():
            return "point"
        case str(text):
            return text
    return "nothing"

### match in a loop, with exits and a capture that stays
def f(n):
    out = []
    for i in range(n):
        match i:
            case 1:
                continue
            case 3:
                break
            case k:
                out.append(k)
        out.append("end")
    else:
        out.append("all")
    return out, k

### match whose guard asks more
def f(n, m):
    match n:
        case x if x > 0 and (y := say(m)):
            return x, y
        case x if m > x > -2:
            return "guarded", x
    return x

### match with names used as values
class Limits:
    HIGH = 3
def f(n):
    match n:
        case Limits.HIGH:
            return "high"
        case -1:
            return "minus"
    return "other"

### code after a return is never run
def f(n):
    if n:
        return 1
        say("never")
    return 2
    say("never")

### expressions over several lines
def f(n, m):
    total = max(
        say(n),
        say(
            m
        ),
    )
    if (
        n > 1
        and m // n
        or 0 <= m
        < n
    ):
        total = [
            n // m,
            (
                1 // (n - 2)
                if m
                else 2
            ),
        ][
            n - 2
        ]
    return (
        total
        // (m - 1)
    )
"""
