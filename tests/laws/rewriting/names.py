"""Scopes and names: closures, nested functions, methods, parameters, comprehensions."""

from __future__ import annotations

PROGRAMS = '''
### closure over a variable that changes later
def f(n):
    x = 1
    read = lambda: x
    if n > 0:
        x = n
    return read()

### late binding of lambdas in a loop
def f(n):
    readers = []
    for i in range(n):
        readers.append(lambda: i)
    return [reader() for reader in readers]

### early binding through a default
def f(n):
    readers = []
    for i in range(n):
        readers.append(lambda i=i, *, k=n: (i, k))
    return [reader() for reader in readers]

### nested function with control flow
def f(n):
    def sign(x):
        if x < 0:
            return -1
        for _ in range(x):
            return 1
        return 0
    return [sign(i) for i in range(-2, n)]

### nested function defined in a branch
def f(n):
    if n > 0:
        def g(x):
            return x + n
    else:
        def g(x):
            return x - n
    return g(10)

### nested function defined on one path only
def f(n):
    if n > 0:
        def g():
            return n
    return g()

### nested function that reads what may be undefined
def f(n):
    if n > 0:
        x = n
    def g():
        return x
    return g()

### default of a nested function that may be undefined
def f(n):
    if n > 0:
        x = n
    def g(y=x):
        return y
    return g()

### default of a lambda that may be undefined
def f(n):
    if n > 0:
        x = n
    return (lambda y=x: y)()

### defaults evaluated once, where the function is defined
def f(n):
    def g(a=say(n), *, b=say(n) if n > 1 else say("small"), c=say(1) and say(2)):
        return a, b, c
    return g(), g(5, b=6)

### recursion
def f(n):
    if n <= 1:
        return 1
    return n * f(n - 1)

### mutual recursion of nested functions
def f(n):
    def even(k):
        return True if k <= 0 else odd(k - 1)
    def odd(k):
        if k <= 0:
            return False
        return even(k - 1)
    return even(n)

### recursion of a nested function
def f(n):
    def fact(k):
        if k < 2:
            return 1
        return k * fact(k - 1)
    return fact(n)

### nested functions three deep
def f(n):
    def a(x):
        def b(y):
            def c(z):
                if z > n:
                    return x + y + z
                return x - y
            return c
        return b
    return a(1)(2)(3), a(n)(n)(n)

### nested function with the name of a variable outside
def f(n):
    x = n
    def g(x):
        if x > 1:
            x = -x
        return x
    return g(x), x

### nested function that has its own variable of the same name
def f(n):
    x = n
    def g():
        x = 5
        for x in range(3):
            pass
        return x
    return g() + x

### decorated nested function
def double(function):
    say(function.__name__)
    return lambda *args: 2 * function(*args)
def f(n):
    @double
    @double
    def g(x):
        if x > 0:
            return x
        return 1
    return g(n)

### class in a function
def f(n):
    scale = 3
    class Local:
        factor = scale * n
        def get(self):
            return self.factor if n > 0 else scale
    return Local().get(), Local.factor

### methods, properties and kinds of method
class C:
    base = 10
    def __init__(self, x):
        self.x = x
    def method(self, y):
        if y > 0:
            return self.x + y
        return self.base
    @property
    def double(self):
        return self.x * 2 if self.x else None
    @staticmethod
    def fixed(y):
        return [i for i in range(y) if i % 2]
    @classmethod
    def made(cls, y):
        if y < 0:
            return cls(-y)
        return cls(y)
def f(n, m):
    c = C.made(n)
    return c.method(m), c.double, C.fixed(m), c.fixed(n), type(c).__name__

### super
class A:
    def who(self, n):
        return "A", n
    @classmethod
    def make(cls):
        return cls.__name__
class B(A):
    def who(self, n):
        if n > 0:
            return "B", super().who(n - 1)
        return "B", super(B, self).who(n), __class__.__name__
    @classmethod
    def make(cls):
        return "made", super().make()
class D(B):
    def who(self, n):
        for _ in range(2):
            if n:
                result = super().who(n)
        return result
def f(n):
    return D().who(n), B().who(n), D.make()

### super in a nested function and in a comprehension
class A:
    def get(self, n):
        return n
class B(A):
    def get(self, n):
        def inner(k):
            return super(B, self).get(k)
        bound = super().get
        return [bound(i) for i in range(n)], inner(n)
def f(n):
    return B().get(n)

### private names
class Secret:
    __hidden = 5
    def __init__(self, n):
        self.__n = n
    def __helper(self, __k):
        __local = __k + 1
        if __local > 2:
            return __local
        return self.__n
    def reveal(self, m):
        self.__n += m
        del_me = [self.__helper(i) for i in range(m)]
        return self.__n, self.__hidden, del_me, Secret._Secret__hidden, sorted(vars(self))
def f(n, m):
    return Secret(n).reveal(m)

### private names in nested functions and lambdas
class _Odd:
    def __init__(self, n):
        self.__n = n
    def get(self):
        def inner():
            return self.__n if self.__n else 0
        return inner(), (lambda: self.__n)()
def f(n):
    return _Odd(n).get()

### private parameters by keyword
class K:
    def call(self, *, __key=1):
        if __key > 1:
            return __key
        return -1
    def use(self, n):
        return self.call(__key=n)
def f(n):
    return K().use(n)

### callable objects
class Adder:
    def __init__(self, n):
        self.n = n
    def __call__(self, *args, **kwargs):
        return self.n + sum(args) + (kwargs["k"] if "k" in kwargs else 0)
def f(n):
    return Adder(n)(1, 2), Adder(n)(k=n), Adder(1)(*range(n))

### arguments of every kind
def f(n, m):
    def g(a, /, b, *args, c, d=say(4), **kwargs):
        if n:
            return a, b, args, c, d, sorted(kwargs)
        return args
    rest = {"x": 1, "y": m} if m > 0 else {}
    return g(1, *[2] * max(n, 1), c=say(n), **rest), g(say(1), say(2), c=say(3), d=say(5))

### wrong arguments
def f(n):
    def g(a, b=1):
        return a + b
    if n == 1:
        return g()
    if n == 2:
        return g(1, 2, 3)
    if n == 3:
        return g(1, a=2)
    if n == 4:
        return g(**{"a": 1, "b": n})
    return g(n)

### own parameters of every kind
def inner(a, /, b=2, *args, k, **kwargs):
    if a:
        b = args
    return a, b, k, kwargs
def f(n, m):
    return inner(n, m, 3, 4, k=5, z=6), inner(m, k=n)

### order of evaluation of a call
def f(n):
    def g(*args, **kwargs):
        return args, kwargs
    return (say("g"), g)[1](say(1), *say([2, 3]), say(4), k=say(5), **say({"z": say(6)}))

### shadowed builtins
def f(n):
    range = lambda k: [k, k]
    len = 7
    def super(x):
        return x + 1
    total = 0
    for i in range(n):
        total += i + len
    return total, super(n)

### shadowed builtin as parameter and as module name
def abs(x):
    return "own abs"
def f(print, sum):
    if print > sum:
        return abs(print)
    return print + sum

### shadowing a frame reading builtin
def f(n):
    locals = lambda: n
    vars = eval = locals
    return locals(), vars(), eval()

### globals are read when used
limit = 3
def bump():
    globals()["limit"] = limit + 1
    return limit
def f(n):
    seen = []
    while limit < n + 3:
        seen.append(bump())
    return seen, limit, globals()["limit"]

### list comprehension
def f(n):
    x = 5
    return [x for x in range(n) if x % 2], x, [y + x for y in range(n)]

### nested comprehensions
def f(n, m):
    return [[i * j if i > j else -1 for j in range(m) if j != i] for i in range(n) if i or m], [
        (i, j) for i in range(n) for j in range(i) if i + j != m
    ]

### set and dict comprehensions
def f(n):
    return {i % 3 for i in range(n)}, {i: (j := i * i) for i in range(n) if i and n > 1}, sum(i for i in range(n))

### comprehension whose iterable has the name of its variable
def f(n):
    x = range(n)
    if n > 2:
        x = [n, n]
    return [x for x in x]

### comprehension over what may be undefined
def f(n):
    if n > 1:
        xs = [n]
    return [x for x in xs]

### comprehension with a walrus
def f(n):
    out = [last := i for i in range(n) if i != 1]
    return out, last

### comprehension with a walrus in its condition
def f(n):
    return [y for x in range(n) if (y := x * 2) > 1], y

### comprehension with lambdas
def f(n):
    return [g() for g in [lambda: i for i in range(n)]], [(lambda i: i + n)(i) for i in range(n)]

### comprehension unpacking
def f(n):
    pairs = [(i, (i + 1, -i)) for i in range(n)]
    return [a + b * c for a, (b, c) in pairs], {k: v for k, *v in [(1, 2, 3)]}

### comprehension in a class in a function
def f(n):
    class Local:
        squares = [i * i for i in range(n)]
    return Local.squares

### generator expression consumed later
def f(n):
    x = 1
    lazy = (x + i for i in range(3))
    if n > 0:
        x = 10
        y = x
    else:
        y = x
    return list(lazy), y

### generator expression and short circuit
def f(n):
    return any(say(i) > 1 for i in range(n)), all(say(i) < 2 for i in range(n)), next((i for i in range(n)), "none")

### lambda with control flow
def f(n):
    pick = lambda a, *b, k=0, **kw: a if a > 0 and b else (k or "none")
    return pick(n), pick(n, 1), pick(0, k=n)

### lambda with a walrus
def f(n):
    return (lambda k: (m := k + 1) + m)(n)

### lambda in a default and in a condition
def f(n):
    key = (lambda: 1) if n > 0 else (lambda: -1)
    return sorted([3, 1, 2], key=lambda v: -v if n > 0 else v), key()

### conditional import
def f(n):
    if n > 0:
        import math as module
        from math import floor, ceil as up
    else:
        import os.path
        module = os
    return module.__name__, floor(2.5) if n > 0 else 0, up(2.5)

### annotations in a function
def f(n):
    x: int = n
    y: "text" = n + 1
    z: int
    w: nowhere = 3
    if n > 0:
        z = x
    return x, y, w, z

### annotated targets that are places
class Box:
    pass
def f(n):
    box, items = Box(), [0]
    box.x: int = n
    items[0]: int = n if n > 0 else -1
    (v): int = 3
    return box.x, items, v

### annotations of nested functions
def f(n):
    def g(x: int, *a: "b") -> float:
        return x
    return sorted(g.__annotations__), g(n)

### docstrings and bare expressions
def f(n):
    """Say what it does."""
    def g():
        """Inner."""
        return g.__doc__
    n
    "text"
    ...
    return g()

### f-strings
def f(n):
    width = 6
    return f"{n}", f"{n!r:>{width}}", f"{'yes' if n > 0 else 'no'}", f"{n and say(n)}", f"{n:03d}{{}}"

### docstring of a nested function with control flow
def f(n):
    def g(k):
        """Inner."""
        for i in range(k):
            if i > 1:
                return i
    return g.__doc__, g(n)

### empty function
def f(n):
    pass

### function that is only a docstring
def f(n):
    """Nothing."""
'''
