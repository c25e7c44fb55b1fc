"""Assignments, deletions, and what may be stored into."""

from __future__ import annotations

PROGRAMS = """
### chained assignment
def f(n):
    a = b = [n]
    c = d, e = n, say(n)
    return a is b, c, d, e

### swap and rotate
def f(n, m):
    n, m = m, n
    a, b, c = m, n, say(3)
    a, b, c = c, a, b
    return n, m, a, b, c

### starred unpacking
def f(n):
    first, *middle, last = range(n)
    *init, end = "ab"
    (a, [b, *c]), d = (1, "xyz"), n
    return first, middle, last, init, end, a, b, c, d

### starred displays and calls
def f(n):
    items = [*range(n), n, *"ab"]
    return items, (*items, 1), {*items} == set(items), {**{"a": n}, "b": 1}, max(*items[:2], 5)

### unpacking the wrong number
def f(n):
    a, b = range(n)
    return a, b

### unpacking into places
class Box:
    pass
def f(n):
    items, box = [0, 0, 0], Box()
    items[say(0)], box.x, *items[1:] = say(n), say(2), say(3), say(4)
    (box.y, items[0]) = items[0], box.x
    return items, box.x, box.y

### order of assignment to an index just assigned
def f(n):
    items = [0, 0, 0]
    i = 2
    i, items[i] = 1, n
    items[i] = i = 0
    return i, items

### order of evaluation of an assignment to an item
def f(n):
    items = {}
    say(items)[say("key")] = say(n)
    return items

### augmented names with every operator
def f(n, m):
    a = n
    a += m
    a -= 1
    a *= 3
    b = a
    b //= m
    a %= 7
    a **= 2
    a <<= 1
    a >>= 1
    a |= 8
    a &= 12
    a ^= 5
    c = a
    c /= n
    return a, b, c

### matrix multiplication in place
class M:
    def __init__(self, v):
        self.v = v
    def __imatmul__(self, other):
        say("imatmul")
        self.v *= other.v
        return self
    def __matmul__(self, other):
        return M(self.v + other.v)
def f(n):
    a = M(n)
    kept = a
    a @= M(2)
    return a is kept, a.v, (a @ M(1)).v

### augmented item, evaluated once
def f(n):
    items = {"k": n, 1: [0]}
    say(items)[say("k")] += say(5)
    items[1][0] -= n
    items[1] += [n]
    return items

### augmented attribute, evaluated once
class Box:
    def __init__(self, n):
        self.n = n
def f(n):
    box = Box(n)
    say(box).n += say(3)
    box.n *= 2 if n > 0 else 3
    return box.n

### augmented slice
def f(n):
    items = [0, 1, 2]
    items[1:] += [n]
    items[say(0):say(1)] *= 2
    items[::2] = [9] * len(items[::2])
    return items

### mutation in place is seen through other names
def f(n):
    a = b = []
    a += [n]
    c = a
    c = c + [1]
    return a, b, c

### failed item access
def f(n):
    items = [1, 2, 3]
    items[n] += say(1)
    return items

### deletion of names
def f(n):
    x = n
    del x
    if n > 1:
        x = 3
    return x

### deletion of a parameter and redefinition
def f(n, m):
    if n > m:
        del n
        n = "again"
    else:
        del m
    return n, m

### deletion of what is not there
def f(n):
    if n > 0:
        x = 1
    del x
    return n

### deletion of places
class Box:
    pass
def f(n):
    items, table, box = [0, 1, 2, 3], {"a": 1, "b": 2}, Box()
    box.x = 1
    del items[1:3], table["a"], box.x
    del (items[0], [table["b" if n > 0 else "z"]])
    del items[say(n)]
    return items, table, vars(box)

### deletion of a variable that a closure reads
def f(n):
    x = n
    read = lambda: x
    if n > 0:
        del x
    return read()

### subscripts of every kind
class Show:
    def __getitem__(self, key):
        return key
def f(n):
    s = Show()
    return s[n], s[1:n], s[::2], s[n, 1:], s[..., None], s[(1, 2)], s[:], s[n:say(2), *(1, 2)]

### attributes
class Box:
    def __getattr__(self, name):
        return say(name)
def f(n):
    return Box().anything if n > 0 else Box().other.strip()

### setters and properties
class Box:
    def __setattr__(self, name, value):
        say((name, value))
        object.__setattr__(self, name, value)
    def __delattr__(self, name):
        say(("del", name))
        object.__delattr__(self, name)
def f(n):
    box = Box()
    box.x = box.y = n
    if n > 0:
        del box.x
    return sorted(vars(box))

### containers made and mutated
def f(n):
    items, table, names = [], {}, set()
    for i in range(n):
        items.append(i)
        table[i] = items[-1]
        names.add(i % 2)
        if i == 2:
            items.clear()
    return items, table, names

### integer, float and string arithmetic
def f(n, m):
    return n + m, n * 0.5, -n // 3, n % 3, n / m, n**2, ~n, +n, n & m, n | m, n ^ m, n << 2, "a" * n

### binary operation order
def f(n, m):
    return say(n) + say(m) * say(2) - say(1)

### conditional statement expressions
def f(n):
    n > 0 and say("positive")
    n > 0 or say("not positive")
    say(1) if n else say(0)
    not say(n)
    return None

### return of several things
def f(n):
    if n > 2:
        return n, *range(n)
    if n > 1:
        return (yes := n),
    return

### use of a name both as a variable and an attribute
class Box:
    n = 5
def f(n):
    box = Box()
    box.n = n
    n = box.n + n
    return n, Box.n
"""
