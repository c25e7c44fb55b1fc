"""URLs of remote stores: a text that is none is refused where it is set, and no text shows what is secret."""

from __future__ import annotations

import json
import re
from contextlib import nullcontext
from urllib.parse import unquote, urlsplit

import pytest

from triptych.support.config import config, override, read
from triptych.support.remote_url import (
    UntrustedRemoteError,
    authenticates,
    check_trusted,
    mistake_in,
    shown,
    without_secrets,
)
from triptych.support.setting import SettingError
from triptych.workbench.commands.cli import environment

SECRET = "s3cr3t"
MALFORMED = (
    "redis://[::1",
    "http://[fe80::1%25eth0",
    f"redis://:{SECRET}[x@host/0",
    f"http://u:{SECRET}/w]@host/",
    f"https://u:{SECRET}/w@host/",
    f"rediss://u:{SECRET}@host:port/0",
    f"https://u:{SECRET}@host:99999/",
    f"https://u:{SECRET}#x@host/",
    f"https:///folder?sig={SECRET}",
    f"https://host/a b?sig={SECRET}",
    f"https://host/a\tb?sig={SECRET}",
    f"rediss://host/{SECRET}",
    "file://host/folder",
    "file://folder",
    "local://folder",
    "unix://",
    "/folder",
    "folder",
    "C:\\folder",
    "host:6379",
    "://host",
    "https:host",
)
SECRETS = (
    f"https://{SECRET}@host/folder",
    f"https://me:{SECRET}@host/folder",
    f"https://me:{SECRET}%21x@host:1/a@b",
    f"https://host/folder?sig={SECRET}",
    f"https://{SECRET}@host/folder?sig={SECRET}&x={SECRET}",
    f"rediss://host/0?password={SECRET}",
    f"rediss://:{SECRET}@host:1",
    f"s3://key:{SECRET}@bucket/folder",
    f"simplecache::s3://key:{SECRET}@bucket/folder?{SECRET}",
    f"unix://u:{SECRET}@/run/redis.sock?password={SECRET}",
)


@pytest.mark.parametrize("url", MALFORMED)
def test_text_that_is_no_url_is_an_error_at_the_setting(url: str) -> None:
    with pytest.raises(SettingError) as caught, override(cache_remote=url, cache_key_file="k"):
        pass
    assert SECRET not in str(caught.value)
    with pytest.raises(SettingError) as caught:
        read({"TRIPTYCH_CACHE_REMOTE": url, "TRIPTYCH_CACHE_KEY_FILE": "k"})
    assert "CACHE_REMOTE" in str(caught.value)
    assert SECRET not in str(caught.value) + str(caught.value.__context__) + str(caught.value.__cause__)


@pytest.mark.parametrize("url", SECRETS)
def test_secrets_are_not_shown(url: str) -> None:
    assert not mistake_in(url)
    assert SECRET not in shown(url)
    assert re.sub(r"\W.*", "", url) in shown(url), "it is still known which one is meant"
    with override(cache_remote=url, cache_key_file="k"):
        texts = (environment(), environment(as_json=True), repr(config()))
    assert SECRET not in "".join(texts)
    (value,) = (row["value"] for row in json.loads(texts[1]) if row["name"] == "cache_remote")
    assert value == shown(url)


@pytest.mark.parametrize("url", ["https://host:1/a/b", "rediss://host/0", "file:///a%20b", "file:///a b", "memory://x"])
def test_what_is_not_secret_is_shown(url: str) -> None:
    assert shown(url) == url


@pytest.mark.parametrize("url", [f"http://u:{SECRET}@host/?sig={SECRET}", f"redis://{SECRET}@host?password={SECRET}"])
def test_refusal_says_no_secret(url: str) -> None:
    with pytest.raises(UntrustedRemoteError, match="host") as caught, override(cache_remote=url):
        pass
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "is_known"),
    [
        ("https://host/folder", True),
        ("rediss://host/0", True),
        ("rediss://host/0?ssl_cert_reqs=required&ssl_check_hostname=true", True),
        ("rediss://host/0?ssl_cert_reqs=none", False),
        ("rediss://host/0?ssl_check_hostname=false", False),
        ("file:///folder", True),
        ("unix:///run/redis.sock", True),
        ("http://host/folder", False),
        ("redis://host/0", False),
        ("s3://bucket/folder", False),
        ("simplecache::https://host/folder", False),
    ],
)
def test_who_answers_is_known_by_tls_or_by_the_owner_of_a_file(url: str, is_known: bool) -> None:
    assert authenticates(url) == is_known
    check_trusted(url, is_signed=True, dares=False)
    check_trusted(url, is_signed=False, dares=True)
    with nullcontext() if is_known else pytest.raises(UntrustedRemoteError):
        check_trusted(url, is_signed=False, dares=False)


@pytest.mark.parametrize("url", SECRETS)
def test_words_of_a_library_lose_what_is_secret(url: str) -> None:
    password = unquote(urlsplit(url).password or "")
    said = without_secrets(f"connecting to {url} failed: {unquote(url)} has the wrong password {password}", url)
    assert SECRET not in said
    assert said.startswith("connecting to ")
