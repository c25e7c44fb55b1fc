"""Loops and early exits from them."""

from __future__ import annotations

PROGRAMS = """
### for over a range
def f(n):
    total = 0
    for i in range(n):
        total += i
    return total

### loop variable after the loop
def f(n):
    for i in range(n):
        i = i * 10
    return i

### loop variable kept from before an empty loop
def f(n):
    i = "before"
    for i in range(n):
        pass
    return i

### while
def f(n):
    steps = 0
    while n > 0:
        n -= 2
        steps += 1
    return steps, n

### while true with break
def f(n):
    i = 0
    while True:
        if i >= n:
            break
        i += 1
    return i

### while one with return
def f(n):
    i = 0
    while 1:
        i += 1
        if i > n:
            return i

### while false
def f(n):
    while False:
        n = say(100)
    else:
        n += 1
    return n

### break and continue
def f(n, m):
    out = []
    for i in range(n):
        if i == m:
            continue
        if i == m + 2:
            break
        out.append(i)
    return out

### for else
def f(n, m):
    for i in range(n):
        if i == m:
            found = i
            break
    else:
        found = say("none")
    return found

### while else
def f(n, m):
    while n > 0:
        n -= 1
        if n == m:
            break
    else:
        say("else")
        n = -100
    return n

### else of a loop without exits
def f(n):
    for i in range(n):
        say(i)
    else:
        n = "done"
    return n

### else of a loop that always leaves
def f(n):
    for i in range(n):
        break
    else:
        return "empty"
    return i

### else with a continue of the outer loop
def f(n):
    out = []
    for i in range(n):
        for j in range(i):
            if j == 2:
                break
        else:
            out.append(("short", i))
            continue
        out.append((i, j))
    return out

### break in the else of an inner loop
def f(n):
    for i in range(n):
        for j in range(i):
            if j > i:
                break
        else:
            if i == 3:
                break
    else:
        i = "all"
    return i

### return from nested loops
def f(n, m):
    for i in range(n):
        for j in range(m):
            if i * j == 2:
                return i, j
        say(i)
    return None

### return in the else of a loop
def f(n, m):
    for i in range(n):
        if i == m:
            break
    else:
        return "else"
    return i

### return without a value
def f(n):
    for i in range(5):
        if i == n:
            return
        say(i)

### early return and falling off the end
def f(n):
    if n > 0:
        if n > 1:
            return "large"
    else:
        say("small")

### continue in a while
def f(n):
    i = total = 0
    while i < n:
        i += 1
        if i % 2:
            continue
        total += i
    return total

### break after assignments that stay
def f(n):
    x = y = 0
    for i in range(10):
        x = i
        if i == n:
            break
        y = i
    return x, y

### test of a while that does things
def f(n):
    log = []
    while (n := n - 1) > 0 and say(n) != 2:
        log.append(n)
    else:
        log.append("else")
    return log, n

### test of a while through a helper
def again(n):
    return say(n) < 3
def f(n):
    while again(n):
        n += 1
    return n

### tuple targets
def f(n):
    total = 0
    for i, (a, *b) in enumerate([(1, 2, 3), (4,), "xyz"][:n]):
        total += i + len(b)
        last = a
    return total, last

### targets that are items and attributes
class Holder:
    pass
def f(n):
    holder, items = Holder(), [0, 0]
    for items[say(1)] in range(n):
        say(list(items))
    for holder.value in range(n):
        pass
    for items[0], holder.other in enumerate(range(n)):
        pass
    return items, vars(holder)

### iterating an iterator that raises
class Failing:
    def __init__(self, n):
        self.n = n
    def __iter__(self):
        return self
    def __next__(self):
        say("next")
        self.n -= 1
        if self.n == 1:
            raise KeyError("broken")
        if self.n <= 0:
            raise StopIteration
        return self.n
def f(n):
    out = []
    for x in Failing(n):
        out.append(x)
        if x == 3:
            break
    return out

### iterating what cannot be iterated
def f(n):
    for i in n if n > 2 else [n]:
        say(i)
    return i

### an iterator shared by two loops
def f(n):
    items = iter(range(n))
    for i in items:
        if i == 1:
            break
    rest = []
    for j in items:
        rest.append(j)
    return i, rest

### list changed while it is iterated
def f(n):
    items = list(range(n))
    for i in items:
        if i < 3:
            items.append(i + 10)
    return items

### dictionary items, zip and reversed
def f(n):
    out = []
    for key, value in {"a": n, "b": -n}.items():
        out.append((key, value))
    for a, b in zip(range(n), reversed(range(n))):
        out.append(a - b)
    return out

### loops in branches in loops
def f(n, m):
    count = 0
    for i in range(n):
        if i % 2:
            for j in range(m):
                if j == i:
                    break
                count += 1
            else:
                count += 100
        else:
            while m > i:
                m -= 1
                if m == 2:
                    return count, m
                count += 10
    return count, m

### definitions in a loop that may not run
def f(n):
    for i in range(n):
        x = i
        if i > 1:
            y = i
    return x, y

### variable of the last iteration seen by the next
def f(n):
    out = []
    for i in range(n):
        if i:
            out.append(previous)
        previous = i * i
    return out

### variable deleted in a loop
def f(n):
    for i in range(n):
        x = i
        if i == 2:
            del x
    return x

### swap in a loop
def f(n):
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a, b

### every exit at once
def f(n, m):
    for i in range(6):
        if i < n:
            continue
        while True:
            m += 1
            if m > 5:
                break
            if m == i:
                return "inner", i, m
        if i == 4:
            break
        say((i, m))
    else:
        return "else"
    return i, m

### exit in both branches
def f(n):
    for i in range(5):
        if i == n:
            break
        else:
            continue
        say("never")
    return i

### exits under with
class Manager:
    def __init__(self, name):
        self.name = name
    def __enter__(self):
        say(("enter", self.name))
        return self.name, self
    def __exit__(self, *error):
        say(("exit", self.name, error[0]))
        return self.name == "quiet"
def f(n, m):
    for i in range(n):
        with Manager("outer") as (name, _), Manager("quiet" if m > 2 else "loud"):
            if i == 1:
                continue
            if i == 3:
                break
            if i == m:
                return name, i
            if i == 2:
                raise KeyError(i)
            say(i)
        say("after")
    return "end", i

### with that stores into places
class Manager:
    def __enter__(self):
        return 1, 2
    def __exit__(self, *error):
        say("exit")
def f(n):
    items = [0, 0, 0]
    with Manager() as items[n % 2], Manager() as (a, items[2]):
        if n > 1:
            x = a
    return items, x

### raise
def f(n):
    for i in range(4):
        if i == n:
            raise ValueError(say(i)) from KeyError("cause")
    else:
        if n < -1:
            raise RuntimeError
    return "fine"

### raise in one branch
def f(n):
    if n > 2:
        raise IndexError(n)
    else:
        x = n
    return x

### division by zero deep inside
def f(n, m):
    out = []
    for i in range(3):
        if i:
            while n > 0:
                n -= 1
                out.append(m // n)
    return out
"""
