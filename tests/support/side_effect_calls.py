"""Calls with effects: what is set up, the statement under run-time control flow, and what shows its effect."""

from __future__ import annotations

HEADER = """
import array, bisect, collections, contextlib, copy, csv, dataclasses, datetime, decimal, functools, gc, heapq, io
import itertools, json, logging, math, operator, os, pathlib, pickle, queue, random, re, secrets, shutil, signal
import statistics, string, struct, subprocess, sys, tempfile, textwrap, threading, time, types, uuid, warnings, weakref
import numpy as np
import triptych as tt

HERE = os.path.dirname(__file__)
LOG = logging.getLogger("side effects")
RECORDS = []
LOG.addHandler(type("Keeper", (logging.Handler,), {"emit": lambda self, record: RECORDS.append(record)})())
LOG.setLevel(logging.INFO)
LOG.propagate = False


class Account:
    rate = 1

    def __init__(self):
        self.total = 1
        self.log = []

    def deposit(self):
        self.total += 1

    @property
    def counted(self):
        self.total += 1
        return 0

    @counted.setter
    def counted(self, value):
        self.total += value

    @classmethod
    def raise_rate(cls):
        cls.rate += 1

    def __getitem__(self, key):
        self.total += 1
        return 0

    def __setitem__(self, key, value):
        self.total += value

    def __delitem__(self, key):
        self.total -= 1

    def __add__(self, other):
        self.total += 1
        return 0

    def __radd__(self, other):
        self.total += 1
        return 0

    def __iadd__(self, other):
        self.total += other
        return self

    def __neg__(self):
        self.total += 1
        return 0

    def __eq__(self, other):
        self.total += 1
        return True

    def __lt__(self, other):
        self.total += 1
        return True

    def __hash__(self):
        self.total += 1
        return 1

    def __len__(self):
        self.total += 1
        return 1

    def __bool__(self):
        self.total += 1
        return True

    def __iter__(self):
        self.total += 1
        return iter((1, 2))

    def __contains__(self, item):
        self.total += 1
        return True

    def __call__(self):
        self.total += 1

    def __enter__(self):
        self.total += 1
        return self

    def __exit__(self, *_):
        self.total += 1

    def __str__(self):
        self.total += 1
        return "account"

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        self.log.append(name)
        return 0


class Counting:
    def __init__(self):
        self.count = 0

    def __iter__(self):
        return self

    def __next__(self):
        self.count += 1
        return self.count


class Descriptor:
    reads = 0

    def __get__(self, owner, cls):
        Descriptor.reads += 1
        return 0


class Described:
    it = Descriptor()


def closure():
    count = 0

    def more():
        nonlocal count
        count += 1
        return count

    return more


def numbers(kept):
    kept.append(1)
    yield 1
    kept.append(2)
    yield 2


@contextlib.contextmanager
def entered(kept):
    kept.append(1)
    yield
    kept.append(2)


@functools.lru_cache
def cached(kept):
    kept.items.append(1)
    return 1


class Kept:
    def __init__(self):
        self.items = []


def appended(kept):
    try:
        kept.append(1)
    finally:
        pass


TOTAL = 0


def counted_globally():
    global TOTAL
    TOTAL += 1
"""

CALLS: tuple[tuple[str, str, str], ...] = (
    # builtin containers
    ("x = [1, 2]", "x.append(3)", "len(x)"),
    ("x = [1, 2]", "x.extend((3, 4))", "len(x)"),
    ("x = [1, 2]", "x.insert(0, 3)", "x[0]"),
    ("x = [1, 2, 3, 4]", "x.pop()", "len(x)"),
    ("x = [1, 1, 1, 1]", "x.remove(1)", "len(x)"),
    ("x = [2, 1]", "x.reverse()", "x[0]"),
    ("x = [2, 1]", "x.sort()", "x[0]"),
    ("x = [2, 1]", "x.clear()", "len(x)"),
    ("x = [1, 2]", "x += [3]", "len(x)"),
    ("x = [1, 2]", "x *= 2", "len(x)"),
    ("x = [1, 2]", "x[0] = 7", "x[0]"),
    ("x = [1, 2, 3, 4, 5]", "del x[0]", "len(x)"),
    ("x = [1, 2]", "x[1:] = []", "len(x)"),
    ("x = [1, 2]", "x.__setitem__(0, 9)", "x[0]"),
    ("x = [1, 2]", "list.__setitem__(x, 0, 9)", "x[0]"),
    ("x = [1, 2]", "list.append(x, 9)", "len(x)"),
    ("x = [1, 2]; a = x.append", "a(9)", "len(x)"),
    ("x = [1, 2]", "operator.setitem(x, 0, 9)", "x[0]"),
    ("x = [1, 2, 3, 4, 5]", "operator.delitem(x, 0)", "len(x)"),
    ("x = [1, 2]", "operator.iadd(x, [3])", "len(x)"),
    ("x = [1, 2]", "operator.methodcaller('append', 3)(x)", "len(x)"),
    ("x = []", "list(map(x.append, (1, 2)))", "len(x)"),
    ("x = []", "[x.append(k) for k in (1, 2)]", "len(x)"),
    ("x = []", "sorted([3, 1], key=lambda v: x.append(v) or v)", "len(x)"),
    ("x = []", "max([3, 1], key=lambda v: x.append(v) or v)", "len(x)"),
    ("x = []", "functools.reduce(lambda a, b: x.append(b) or a, (1, 2, 3))", "len(x)"),
    ("x = []", "list(filter(lambda v: x.append(v), (1, 2)))", "len(x)"),
    ("x = []", "functools.partial(x.append, 1)()", "len(x)"),
    ("x = {1: 1}", "x.update({2: 2})", "len(x)"),
    ("x = {1: 1}", "x.setdefault(2, 2)", "len(x)"),
    ("x = {1: 1, 2: 2}", "x.pop(1, None)", "len(x)"),
    ("x = {1: 1}", "x.clear()", "len(x)"),
    ("x = {1: 1}", "x |= {2: 2}", "len(x)"),
    ("x = {1: 1}", "x[2] = 2", "len(x)"),
    ("x = {1: 1}", "x.__setitem__(2, 2)", "len(x)"),
    ("x = {1}", "x.add(2)", "len(x)"),
    ("x = {1}", "x |= {2}", "len(x)"),
    ("x = {1}", "x.discard(1)", "len(x)"),
    ("x = {1}", "x.symmetric_difference_update({2})", "len(x)"),
    ("x = bytearray(3)", "x.extend(b'ab')", "len(x)"),
    ("x = bytearray(3)", "x[0] = 1", "x[0]"),
    ("x = bytearray(3); v = memoryview(x)", "v[0] = 1", "x[0]"),
    # collections and friends
    ("x = collections.deque([1, 2, 3, 4])", "x.popleft()", "len(x)"),
    ("x = collections.deque([1, 2])", "x.rotate(1)", "x[0]"),
    ("x = collections.deque([1, 2])", "x += [3]", "len(x)"),
    ("x = collections.defaultdict(list)", "x[3]", "len(x)"),
    ("x = collections.Counter()", "x.update('aab')", "len(x)"),
    ("x = collections.Counter('aab')", "x.subtract('a')", "x['a']"),
    ("x = collections.OrderedDict(a=1, b=2)", "x.move_to_end('a')", "list(x.values())[0]"),
    ("x = collections.UserList([1])", "x.append(2)", "len(x)"),
    ("x = collections.UserDict()", "x['a'] = 1", "len(x)"),
    ("x = collections.ChainMap({})", "x['a'] = 1", "len(x)"),
    ("x = array.array('i', [1])", "x.append(2)", "len(x)"),
    ("x = array.array('i', [1])", "x[0] = 2", "x[0]"),
    ("x = [3, 2, 1]", "heapq.heapify(x)", "x[0]"),
    ("x = [1, 2, 3, 4]", "heapq.heappop(x)", "len(x)"),
    ("x = [1, 3]", "heapq.heappush(x, 0)", "x[0]"),
    ("x = [1, 3]", "bisect.insort(x, 2)", "len(x)"),
    ("x = queue.Queue()", "x.put(1)", "x.qsize()"),
    ("x = queue.SimpleQueue()", "x.put(1)", "x.qsize()"),
    ("x = queue.PriorityQueue()", "x.put(1)", "x.qsize()"),
    ("x = io.StringIO()", "x.write('abc')", "len(x.getvalue())"),
    ("x = io.BytesIO()", "x.write(b'abc')", "len(x.getvalue())"),
    ("x = io.StringIO('a\\nb\\nc\\nd')", "x.readline()", "x.tell()"),
    ("x = io.StringIO()", "csv.writer(x).writerow([1])", "len(x.getvalue())"),
    ("x = io.StringIO()", "json.dump([1], x)", "len(x.getvalue())"),
    ("x = io.BytesIO()", "pickle.dump([1], x)", "len(x.getvalue())"),
    ("x = types.SimpleNamespace(v=1)", "setattr(x, 'v', 5)", "x.v"),
    ("x = types.SimpleNamespace(v=1)", "x.__dict__['v'] = 5", "x.v"),
    ("x = types.SimpleNamespace(v=1)", "x.__dict__.update(v=5)", "x.v"),
    ("x = types.SimpleNamespace(v=1)", "object.__setattr__(x, 'v', 5)", "x.v"),
    ("x = types.SimpleNamespace(v=1)", "x.v += 1", "x.v"),
    ("x = types.SimpleNamespace(v=1)", "delattr(x, 'v') if hasattr(x, 'v') else None", "1 if hasattr(x, 'v') else 0"),
    ("x = random.Random(1)", "x.random()", "int(x.random() * 1000)"),
    ("x = random.Random(1); y = [1, 2, 3]", "x.shuffle(y)", "y[0]"),
    ("x = struct.Struct('i'); y = bytearray(4)", "x.pack_into(y, 0, 7)", "y[0]"),
    ("y = bytearray(4)", "struct.pack_into('i', y, 0, 7)", "y[0]"),
    ("x = [[1]]", "copy.copy(x)[0].append(2)", "len(x[0])"),
    ("x = weakref.WeakValueDictionary(); y = Account()", "x['a'] = y", "len(x)"),
    # iterators
    ("x = iter((1, 2, 3, 4))", "next(x)", "next(x)"),
    ("x = itertools.count()", "next(x)", "next(x)"),
    ("x = itertools.cycle((1, 2))", "next(x)", "next(x)"),
    ("x = enumerate('abcd')", "next(x)", "next(x)[0]"),
    ("x = zip((1, 2, 3, 4), (5, 6, 7, 8))", "next(x)", "next(x)[1]"),
    ("x = map(abs, (1, 2, 3, 4))", "next(x)", "next(x)"),
    ("x = reversed((1, 2, 3, 4))", "next(x)", "next(x)"),
    ("x = (k for k in (1, 2, 3, 4))", "next(x)", "next(x)"),
    ("x = iter((1, 2, 3, 4))", "list(x)", "len(list(x))"),
    ("x = iter((1, 2, 3, 4))", "sum(x)", "len(list(x))"),
    ("x = iter((1, 2, 3, 4))", "max(x, default=0)", "len(list(x))"),
    ("x = iter((1, 2, 3, 4))", "a = [k for k in x]", "len(list(x))"),
    ("x = iter((1, 2, 3, 4))", "a = [*x]", "len(list(x))"),
    ("x = iter((1, 2, 3, 4))", "a = 2 in x", "len(list(x))"),
    ("x = iter((1, 2, 3, 4))", "list(zip(x, (1,)))", "len(list(x))"),
    ("x = iter((1, 2, 3, 4))", "list(itertools.islice(x, 1))", "len(list(x))"),
    ("x = iter((1, 2, 3, 4))", "collections.deque(x, maxlen=0)", "len(list(x))"),
    ("x = iter((1, 2, 3, 4))", "x.__next__()", "len(list(x))"),
    ("x = iter((1, 2, 3, 4))", "for v in x: pass", "len(list(x))"),
    ("x = Counting()", "next(x)", "x.count"),
    ("x = []; g = numbers(x)", "next(g, 0)", "len(x)"),
    ("x = []", "list(numbers(x))", "len(x)"),
    ("x = []; e = x.__iter__()", "e.__setstate__(3)", "e.__length_hint__()"),
    # classes of the user's
    ("x = Account()", "x.deposit()", "x.total"),
    ("x = Account()", "x.counted", "x.total"),
    ("x = Account()", "x.counted = 3", "x.total"),
    ("x = Account()", "x.counted += 3", "x.total"),
    ("x = Account()", "Account.deposit(x)", "x.total"),
    ("x = Account()", "x[0]", "x.total"),
    ("x = Account()", "x[0] = 1", "x.total"),
    ("x = Account()", "del x[0]", "x.total"),
    ("x = Account()", "x + 1", "x.total"),
    ("x = Account()", "1 + x", "x.total"),
    ("x = Account()", "x += 1", "x.total"),
    ("x = Account()", "-x", "x.total"),
    ("x = Account()", "x == 1", "x.total"),
    ("x = Account()", "x != 1", "x.total"),
    ("x = Account()", "x < 1", "x.total"),
    ("x = Account()", "1 > x", "x.total"),
    ("x = Account()", "len(x)", "x.total"),
    ("x = Account()", "hash(x)", "x.total"),
    ("x = Account()", "bool(x)", "x.total"),
    ("x = Account()", "y = 1 if x else 2", "x.total"),
    ("x = Account()", "not x", "x.total"),
    ("x = Account()", "y = x and 1", "x.total"),
    ("x = Account()", "for q in x: pass", "x.total"),
    ("x = Account()", "a, b = x", "x.total"),
    ("x = Account()", "list(x)", "x.total"),
    ("x = Account()", "1 in x", "x.total"),
    ("x = Account()", "x()", "x.total"),
    ("x = Account()", "with x: pass", "x.total"),
    ("x = Account()", "str(x)", "x.total"),
    ("x = Account()", "y = f'{x}'", "x.total"),
    ("x = Account()", "'{}'.format(x)", "x.total"),
    ("x = Account()", "'%s' % x", "x.total"),
    ("x = Account()", "x.missing", "len(x.log)"),
    ("x = Account()", "getattr(x, 'counted')", "x.total"),
    ("x = Account()", "hasattr(x, 'missing')", "len(x.log)"),
    ("x = Account()", "x.log.append(1)", "len(x.log)"),
    ("x = Account()", "{x: 1}", "x.total"),
    ("x = Account()", "[x].index(1)", "x.total"),
    ("x = Account()", "[x].count(1)", "x.total"),
    ("x = Account()", "sum([x], 0)", "x.total"),
    ("x = Account()", "sorted([x, x])", "x.total"),
    ("x = Account()", "(x, 1) == (1, 1)", "x.total"),
    ("x = Account()", "operator.add(x, 1)", "x.total"),
    ("x = Account()", "operator.attrgetter('counted')(x)", "x.total"),
    ("x = Account()", "operator.itemgetter(0)(x)", "x.total"),
    ("Account.rate = 1", "Account.raise_rate()", "Account.rate"),
    ("Account.rate = 1", "Account.rate += 1", "Account.rate"),
    ("Descriptor.reads = 0; x = Described()", "x.it", "Descriptor.reads"),
    ("x = closure()", "x()", "x()"),
    ("x = []", "appended(x)", "len(x)"),
    ("x = Kept()", "cached(x)", "len(x.items)"),
    ("x = []", "with entered(x): pass", "len(x)"),
    ("x = []; s = contextlib.ExitStack()", "s.callback(x.append, 1)", "s.close() or len(x)"),
    ("y = 0", "counted_globally()", "TOTAL"),
    # NumPy
    ("x = np.zeros(3, int)", "x[0] = 5", "int(x[0])"),
    ("x = np.zeros(3, int)", "x += 1", "int(x[0])"),
    ("x = np.zeros(3, int)", "x.fill(5)", "int(x[0])"),
    ("x = np.zeros(3, int)", "np.add(x, 1, out=x)", "int(x[0])"),
    ("x = np.zeros(3, int)", "np.copyto(x, 5)", "int(x[0])"),
    ("x = np.zeros(3, int)", "np.put(x, [0], 5)", "int(x[0])"),
    ("x = np.zeros(3, int)", "x.itemset(0, 5) if hasattr(x, 'itemset') else x.put(0, 5)", "int(x[0])"),
    ("x = np.array([3, 1])", "x.sort()", "int(x[0])"),
    ("x = np.array([3, 1])", "x.resize(4, refcheck=False)", "x.size"),
    ("x = np.zeros(3, int)", "x[1:][:] = 5", "int(x[1])"),
    ("x = np.zeros(3, int)", "np.random.default_rng(1).shuffle(x)", "int(x[0])"),
    ("x = np.random.default_rng(1)", "x.random()", "int(x.random() * 1000)"),
    ("x = np.zeros(3, int)", "np.put_along_axis(x, np.array([0]), 5, 0)", "int(x[0])"),
    ("x = np.zeros(3, int)", "np.sum(x)", "int(x[0])"),
    # what changes nothing is right
    ("x = [3, 1, 2]", "sorted(x)", "x[0]"),
    ("x = [3, 1, 2]", "len(x), max(x), sum(x), x.index(1), x.count(3), x.copy()", "x[0]"),
    ("x = 'abc'", "x.upper().replace('A', 'b').split('b')", "len(x)"),
    ("x = (1, 2)", "math.sqrt(x[0]), math.gcd(4, 6), operator.add(1, 2)", "x[0]"),
    ("x = {1: 2}", "x.get(1), list(x), dict(x), x.keys(), x.items()", "len(x)"),
    ("x = np.arange(3)", "x.sum(), x.reshape(3, 1), x.astype(float), np.max(x)", "x.size"),
    ("x = 1", "itertools.product((1, 2), (3,)), functools.partial(max, 1), decimal.Decimal(1)", "x"),
    ("x = 1", "re.compile('a').match('a'), json.dumps([1]), textwrap.dedent('a'), pathlib.Path('a').name", "x"),
    ("x = 1", "statistics.mean([1, 2]), string.capwords('a b')", "x"),
    ("x = 1", "y = []; y.append(1); y.extend((2, 3)); y[0] = 5", "x"),
    ("x = 1", "y = Account(); y.deposit()", "x"),
    ("x = 1", "y = np.zeros(3); y[0] = 1; y += 1", "x"),
    ("x = 1", "y = collections.deque(); y.append(1)", "x"),
    ("x = 1", "y = iter((1, 2)); next(y)", "x"),
    ("x = 1", "y = random.Random(3); y.seed(3)", "x"),
    ("x = 1", "y = io.StringIO(); y.write('a')", "x"),
    ("x = 1", "for a, b in zip((1, 2), [3, 4]): pass", "x"),
    ("x = 1", "for a, b in enumerate(zip((1, 2), [3, 4])): pass", "x"),
    ("x = 1", "for a in reversed([1, 2]): pass", "x"),
    ("x = 1", "for k, v in {1: 2}.items(): pass", "x"),
    ("x = [1, 2]", "sum(k for k in x), any(k > 1 for k in x), max(k for k in x)", "x[0]"),
    ("x = [1, 2]", "list(map(abs, filter(None, x))), dict(zip('ab', x)), [*itertools.chain(x, x)]", "x[0]"),
    ("x = [1, 2]", "y = (k for k in x); next(y)", "x[0]"),
    ("x = [1, 2]", "y = zip(x, x); next(y); next(y)", "x[0]"),
    ("x = [1, 2]", "y = list(itertools.product(x, x)) + list(itertools.permutations(x))", "x[0]"),
    # the world
    ("x = os.path.join(HERE, 'made')", "os.mkdir(x)", "1 if os.path.exists(x) else 0"),
    ("x = os.path.join(HERE, 'made')", "os.makedirs(x, exist_ok=True)", "1 if os.path.exists(x) else 0"),
    ("x = pathlib.Path(HERE, 'file')", "x.touch()", "1 if os.path.exists(x) else 0"),
    ("x = pathlib.Path(HERE, 'file')", "x.write_text('a')", "1 if os.path.exists(x) else 0"),
    ("x = pathlib.Path(HERE, 'dir')", "x.mkdir(exist_ok=True)", "1 if os.path.exists(x) else 0"),
    ("x = os.path.join(HERE, 'file')", "open(x, 'w').close()", "1 if os.path.exists(x) else 0"),
    ("x = os.path.join(HERE, 'file')", "np.save(x, np.zeros(1))", "1 if os.path.exists(x + '.npy') else 0"),
    ("x = os.path.join(HERE, 'copy')", "shutil.copy(__file__, x)", "1 if os.path.exists(x) else 0"),
    ("os.environ.pop('SIDE', None)", "os.environ['SIDE'] = '1'", "1 if 'SIDE' in os.environ else 0"),
    ("os.environ.pop('SIDE', None)", "os.putenv('SIDE', '1')", "0"),
    ("x = 0", "os.chdir(HERE)", "1 if os.getcwd() == HERE else 0"),
    ("x = 0", "sys.exit(3)", "x"),
    ("x = 0", "os._exit(3)", "x"),
    ("x = 0", "exit(3)", "x"),
    ("x = 0", "os.abort()", "x"),
    ("x = 0", "os.kill(os.getpid(), signal.SIGKILL)", "x"),
    ("x = 0", "signal.signal(signal.SIGUSR1, signal.SIG_IGN)", "1 if signal.getsignal(signal.SIGUSR1) else 0"),
    ("x = 0", "subprocess.run(['true'])", "x + 1"),
    ("x = 0", "os.system('true')", "x + 1"),
    ("x = []", "threading.Thread(target=x.append, args=(1,)).run()", "len(x)"),
    ("x = threading.Lock()", "x.acquire()", "1 if x.locked() else 0"),
    ("x = threading.Event()", "x.set()", "1 if x.is_set() else 0"),
    ("RECORDS.clear()", "LOG.info('a')", "len(RECORDS)"),
    ("RECORDS.clear()", "LOG.log(logging.INFO, 'a')", "len(RECORDS)"),
    ("x = logging.getLogger('other')", "x.setLevel(10 + len(x.handlers))", "x.level"),
    ("x = 0", "logging.disable(10)", "logging.root.manager.disable"),
    ("x = 0", "warnings.warn('a')", "x"),
    ("x = 0", "warnings.simplefilter('ignore')", "len(warnings.filters)"),
    ("random.seed(3)", "random.random()", "int(random.random() * 1000)"),
    ("x = 0", "random.seed(3)", "x"),
    ("np.random.seed(3)", "np.random.rand()", "int(np.random.rand() * 1000)"),
    ("x = 0", "secrets.token_hex(2)", "x"),
    ("x = 0", "uuid.uuid4()", "x"),
    ("x = 0", "time.time()", "x"),
    ("x = 0", "time.sleep(0)", "x"),
    ("x = 0", "datetime.datetime.now()", "x"),
    ("x = 0", "input()", "x"),
    ("x = 0", "sys.stdout.write('')", "x"),
    ("x = 0", "sys.setrecursionlimit(sys.getrecursionlimit() + 1)", "sys.getrecursionlimit()"),
    ("x = 0", "gc.disable()", "1 if gc.isenabled() else 0"),
    ("x = decimal.getcontext(); x.prec = 28", "x.prec = 5", "decimal.getcontext().prec"),
    ("decimal.getcontext().prec = 28", "decimal.getcontext().prec += 1", "decimal.getcontext().prec"),
    ("x = 0", "tempfile.mkdtemp(dir=HERE)", "len(os.listdir(HERE))"),
    ("sys.modules.pop('side', None)", "sys.modules['side'] = sys", "1 if 'side' in sys.modules else 0"),
    ("x = 0", "sys.path.append(HERE)", "len(sys.path)"),
    ("math.side = 0", "math.side = 1", "math.side"),
    ("x = 0", "exec('x = 1')", "x"),
    ("x = {}", "exec('y = 1', x)", "len(x)"),
)
TORCH_CALLS: tuple[tuple[str, str, str], ...] = (
    ("x = torch.zeros(3)", "x.add_(1)", "int(x[0])"),
    ("x = torch.zeros(3)", "x += 1", "int(x[0])"),
    ("x = torch.zeros(3)", "x[0] = 5", "int(x[0])"),
    ("x = torch.zeros(3)", "x.fill_(5)", "int(x[0])"),
    ("x = torch.zeros(3)", "torch.add(x, 1, out=x)", "int(x[0])"),
    ("x = torch.zeros(3)", "x.copy_(torch.ones(3))", "int(x[0])"),
    ("x = torch.zeros(3)", "x.data[0] = 5", "int(x[0])"),
    ("x = torch.nn.Linear(1, 1, bias=False); x.weight.data.fill_(1)", "x.weight.data.fill_(5)", "int(x.weight[0, 0])"),
    ("x = torch.nn.Linear(1, 1)", "x.eval()", "1 if x.training else 0"),
    ("torch.manual_seed(3)", "torch.rand(1)", "int(torch.rand(1) * 1000)"),
    ("x = 0", "torch.manual_seed(3)", "x"),
    ("x = torch.arange(3)", "x.sum(), torch.max(x), x.reshape(3, 1)", "int(x[1])"),
)
