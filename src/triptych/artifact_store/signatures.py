"""Signatures of records: by a key that a team shares (HMAC-SHA256), or by a pair of keys (Ed25519).

With HMAC everybody who can verify can also sign. With Ed25519 those who build have the private key, and those who run
the public one: they use what was signed, and keep nothing that they compile themselves.
"""

from __future__ import annotations

import hmac
from typing import Any

from triptych.artifact_store.record import CannotSign, Signer
from triptych.support.forking import import_late

_DOMAIN = b"triptych store record\n"
"""Signed with every record, so that no signature made for something else is one for a record."""
_SHORTEST = 16
"""Bytes of a shared key."""


class SharedKey:
    """HMAC-SHA256."""

    def __init__(self, key: bytes) -> None:
        if len(key) < _SHORTEST:
            raise ValueError(f"a shared key has at least {_SHORTEST} bytes, this one has {len(key)}")
        self._key = key

    def sign(self, record: bytes) -> str:
        return "hmac-sha256:" + hmac.digest(self._key, _DOMAIN + record, "sha256").hex()

    def verify(self, record: bytes, signature: str) -> bool:
        return hmac.compare_digest(self.sign(record).encode(), signature.encode(errors="replace"))


class KeyPair:
    """Ed25519, by the package cryptography."""

    def __init__(self, private: Any, public: Any) -> None:
        self._private = private
        self._public = public
        self._wrong = import_late("cryptography.exceptions").InvalidSignature

    def sign(self, record: bytes) -> str:
        if self._private is None:
            raise CannotSign
        return "ed25519:" + str(self._private.sign(_DOMAIN + record).hex())

    def verify(self, record: bytes, signature: str) -> bool:
        kind, _, text = signature.partition(":")
        try:
            self._public.verify(bytes.fromhex(text), _DOMAIN + record)
        except (ValueError, self._wrong):
            return False
        return kind == "ed25519"


def read_signer(path: str) -> Signer:
    """The signer of a key file: PEM of an Ed25519 key, private or public, else the bytes that are shared.

    Raises OSError, ValueError or ImportError: a store whose key cannot be had must not be used without it.
    """
    with open(path, "rb") as file:
        content = file.read().strip()
    if not content.startswith(b"-----BEGIN"):
        return SharedKey(content)
    serialization = import_late("cryptography.hazmat.primitives.serialization")
    kinds = import_late("cryptography.hazmat.primitives.asymmetric.ed25519")
    if b"PRIVATE KEY" in content:
        private = serialization.load_pem_private_key(content, password=None)
        if isinstance(private, kinds.Ed25519PrivateKey):
            return KeyPair(private, private.public_key())
    else:
        public = serialization.load_pem_public_key(content)
        if isinstance(public, kinds.Ed25519PublicKey):
            return KeyPair(None, public)
    raise ValueError("a key of another kind than Ed25519")
