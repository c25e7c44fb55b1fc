"""Records that somebody has changed: any bytes, any JSON, any signature. None is an entry, and none may end a look-up.

`hostile(random)` gives one and says whether its digest was made to fit, as anyone can. A reader with a key must load
none of them, and one without a key none whose digest does not fit.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

from tests.support.stores import entry_of, key_of
from triptych.artifact_store.directory import Part, load
from triptych.artifact_store.record import NotAnEntry, SharedKey, Signer, digest_of, write_record

SIGNER = SharedKey(b"a key of a team, which the attacker does not have")
_FACTS: dict[str, Any] = {
    **entry_of(1).facts,
    "signature": "f(x: Int32) -> Int32",
    "key": {"source": "0" * 64, "global SCALE": "int 3"},
    "parameters": [{"name": "x", "memory": {"shape": [4, None], "stride": [1, 2.5e-3]}}],
    "span": {"file": "kernels é 🙂.py", "line": 3},
}
_GOOD = write_record(key_of(1), _FACTS, entry_of(1).artifacts, SIGNER)
_WITHOUT_SIGNATURE = _GOOD.rpartition(b',"signature"')[0]
_OTHER = write_record(key_of(2), entry_of(2).facts, entry_of(2).artifacts, SIGNER)
TEXTS = (
    "\ud800",
    "\udfff\ud800",
    "\0",
    "ａ",
    "",
    "../" * 30,
    "hmac-sha256:" + "0" * 64,
    "ed25519:\ud800",
    "f" * 70_000,
)
NUMBERS = (-1, 1 << 63, 10**4000, 1e308, -0.0, float("nan"), float("inf"), True, None)


@dataclass(frozen=True, slots=True)
class Hostile:
    """What lies under the key of entry 1."""

    data: bytes
    digest_fits: bool = False


class Source:
    """A tier with that record, and with every artifact that the attacker may name."""

    def __init__(self, record: bytes) -> None:
        self.record = record
        self.artifacts = {digest_of(data): data for i in (1, 2) for data in entry_of(i).artifacts.values()}

    def read(self, part: Part, name: str, limit: int) -> bytes | None:
        return self.record if part == "ac" else self.artifacts.get(name)


def is_loaded(hostile: Hostile, signer: Signer | None) -> bool:
    """Whether a reader takes it. Anything that is raised but `NotAnEntry` is a fault of the reader."""
    try:
        return load(Source(hostile.data), key_of(1), signer) is not None
    except NotAnEntry:
        return False


def hostile(random: Random) -> Hostile:
    """One that differs from the good record."""
    while True:
        found = random.choice(_KINDS)(random)
        if found.data != _GOOD:
            return found


def _bytes(random: Random) -> Hostile:
    """Some bytes flipped, cut out, put in, or taken from another record."""
    data = bytearray(_GOOD)
    for _ in range(random.choice((1, 1, 1, 2, 8))):
        begin = random.randrange(len(data) + 1)
        length = random.choice((0, 1, 1, 4, 64, 5000))
        piece = random.choice(
            (b"", random.randbytes(random.choice((1, 3, 40))), _OTHER[begin : begin + length], b"\xed\xa0\x80")
        )
        data[begin : begin + length] = piece
    return Hostile(bytes(data), digest_fits=data.startswith(_WITHOUT_SIGNATURE))


def _noise(random: Random) -> Hostile:
    return Hostile(random.choice((b"", b'{"digest":"', b"\xff\xfe")) + random.randbytes(random.randrange(400)))


def _nested(random: Random) -> Hostile:
    """Deep, or long: in the place of the whole, of the record, or of a fact."""
    levels = random.choice((150, 250, 990, 30_000))
    begin, end = random.choice(((b"[", b"]"), (b'{"a":', b"}"), (b"[[],", b"]")))
    deep = begin * levels + b"0" + end * levels
    if random.random() < 0.3:
        return Hostile(deep)
    if random.random() < 0.5:
        return Hostile(_sealed(deep), digest_fits=True)
    return Hostile(
        _sealed(_canonical(_record()).replace(b'"options":', b'"o":' + deep + b',"options":')), digest_fits=True
    )


def _numbers(random: Random) -> Hostile:
    """Digits that Python would take long for, and exponents beyond every float."""
    text = random.choice(
        (b"9" * 5000, b"1" * 100_000, b"1e999", b"-1E-999", b"0." + b"3" * 50_000, b"NaN", b"-Infinity")
    )
    return Hostile(_sealed(_canonical(_record()).replace(b'"format":1', b'"format":' + text)), digest_fits=True)


def _changed_json(random: Random) -> Hostile:
    """Another value in some place, written canonically or not, with or without a digest that fits."""
    record = _record()
    found = list(places(record))
    for _ in range(random.choice((1, 1, 2, 5))):
        container, name = random.choice(found)
        container[name] = random.choice((random.choice(TEXTS), random.choice(NUMBERS), [], {}, [{}] * 300))
    if random.random() < 0.2:
        record[random.choice(TEXTS)] = 1
    text = json.dumps(
        record, indent=random.choice((None, None, 1)), separators=(",", ":"), sort_keys=random.random() < 0.8
    )
    fits = random.random() < 0.8
    return Hostile(_sealed(text.encode(), None if fits else "0" * 64, _signature(random)), digest_fits=fits)


def _changed_signature(random: Random) -> Hostile:
    """The good record under another signature, as text, and as anything else."""
    text = _canonical(_record())
    signature: Any = random.choice((*TEXTS, *NUMBERS, [], {}, SIGNER.sign(b""), SharedKey(b"0" * 16).sign(text)))
    return Hostile(_sealed(text, None, json.dumps(signature)), digest_fits=True)


_KINDS: tuple[Callable[[Random], Hostile], ...] = (
    *(_bytes,) * 4,
    _noise,
    _nested,
    _numbers,
    *(_changed_json,) * 3,
    _changed_signature,
)


def _record() -> dict[str, Any]:
    record: dict[str, Any] = json.loads(_GOOD)["record"]
    return record


def places(value: Any) -> Any:
    """Every place of a tree, as a container and the name or number in it."""
    for name, part in list(value.items() if isinstance(value, dict) else enumerate(value)):
        yield value, name
        if isinstance(part, dict | list):
            yield from places(part)


def _canonical(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def _signature(random: Random) -> str:
    return random.choice(("", json.dumps(json.loads(_GOOD)["signature"]), '"\\ud800"', "7"))


def _sealed(text: bytes, digest: str | None = None, signature: str = "") -> bytes:
    end = f',"signature":{signature}}}' if signature else "}"
    return b'{"digest":"' + (digest or digest_of(text)).encode() + b'","record":' + text + end.encode()
