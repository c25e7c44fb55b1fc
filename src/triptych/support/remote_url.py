"""Remote store URL: whether it is one, whether its server can be trusted, and how it is shown.

It is judged where it is set, long before anybody connects. Passwords and tokens are in it: in front of `@`, and in the
query. No text that people or logs see has them.
"""

from __future__ import annotations

import re
from urllib.parse import parse_qs, unquote, urlsplit

from triptych.support.setting import SettingError

_HIDDEN = "…"
_SHORTEST_SECRET = 3
_CHAIN = re.compile(r"[a-z0-9]{2,}::", re.IGNORECASE)
"""How fsspec writes a file system over another one."""
_JUDGED = frozenset({"file", "local", "unix", "memory"})
"""Files and sockets of this machine, judged by their owners when they are opened; objects of this process."""


class UntrustedRemoteError(SettingError):
    """A remote store that nobody vouches for: compiled code is run as it comes, so whoever answers there, or stands on
    the way, could have this process run anything."""

    code = "TT0734"


def check_trusted(url: str, *, is_signed: bool, dares: bool) -> None:
    """Refuse a remote store without TLS where records are not signed either, unless the user dares."""
    if is_signed or dares or authenticates(url):
        return
    raise UntrustedRemoteError(
        "this process would run whatever code the remote store sends",
        found=f"{shown(url)}, where nothing tells who answers, and no key that signs records",
        expected="https://, or rediss:// that verifies certificates; or signed records",
        instead="TRIPTYCH_CACHE_KEY_FILE=FILE, with the key that all machines of the store have",
        notes=["TRIPTYCH_CACHE_REMOTE_RUNS_UNVERIFIED_CODE=1 uses it as it is, and says so at every start"],
    )


def authenticates(url: str) -> bool:
    """Whether the other side is known without a key: by TLS, or by the owner of a file. fsspec lets nobody see that."""
    parts = urlsplit(url)
    if _CHAIN.match(url) or parts.scheme not in (_JUDGED | {"https", "rediss"}):
        return False
    options = parse_qs(parts.query) if parts.scheme == "rediss" else {}
    verifies = options.get("ssl_cert_reqs", ["required"])[-1].lower() == "required"
    return verifies and options.get("ssl_check_hostname", ["true"])[-1].lower() in ("true", "1", "yes")


def mistake_in(url: str) -> str:
    """What keeps a text from being the URL of a remote store; empty: nothing. It quotes nothing of it."""
    if not url.isprintable():
        return "it has control characters"
    if _CHAIN.match(url):
        return ""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return (
            "its host and port cannot be read: `[ ] / ? # @ :` in a password are written as %5B %5D %2F %3F %23 %40 %3A"
        )
    if not parts.scheme or "://" not in url:
        return "it has no scheme, such as file:// or rediss://"
    if parts.scheme in ("http", "https"):
        if not host:
            return "it has no host"
        return "it has blanks, or a fragment, which is never sent" if parts.fragment or " " in url else ""
    if parts.scheme in ("redis", "rediss"):
        number = parts.path.removeprefix("/")
        return "" if not number or number.isdecimal() else "what follows the host is the number of a database"
    if parts.scheme in ("file", "local"):
        absolute = parts.netloc in ("", "localhost") and parts.path.startswith("/")
        return "" if absolute else f"it needs an absolute path: {parts.scheme}:///folder"
    return "it has no path of a socket" if parts.scheme == "unix" and not parts.path else ""


def shown(url: str) -> str:
    """The URL without what is in front of `@`, without query and fragment; of what is no URL, its scheme alone."""
    if mistake_in(url):
        scheme, mark, _ = url.partition("://")
        return f"{scheme}://{_HIDDEN}" if mark and scheme.isidentifier() else _HIDDEN
    hidden = re.sub(r"//.*@", f"//{_HIDDEN}@", url)
    return re.sub(r"[?#].+", lambda rest: rest[0][0] + _HIDDEN, hidden)


def without_secrets(text: str, url: str) -> str:
    """A text of a library, which may quote what it was given."""
    accounts = re.findall(r"//(.*)@", url) + re.findall(r"//([^/@]*)@", url)  # a path may have an `@` too
    pairs = url.partition("?")[2].partition("#")[0].split("&")
    words = {word for account in accounts for word in (account, *account.split(":"))}
    words |= {pair.partition("=")[2] or pair for pair in pairs}
    for word in sorted(words | {unquote(word) for word in words}, key=len, reverse=True):
        if len(word) >= _SHORTEST_SECRET:
            text = text.replace(word, _HIDDEN)
    return text
