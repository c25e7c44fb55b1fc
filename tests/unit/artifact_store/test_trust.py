"""Who can have us run their code: every configuration of the store against everyone who is not its user.

A directory is attacked by another user, wherever its modes or owners let them; a server by whoever answers for it.
Each attack ends as a refusal with one warning, as a signature that does not fit, or as an error at the setting.
"""

from __future__ import annotations

import os
import shutil
import ssl
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.integration.subprograms import run
from tests.support.http_store import http_store
from tests.support.stores import entry_of, files_of, key_of, store_in
from triptych.artifact_store import events as events_module
from triptych.artifact_store.configured import default_store
from triptych.artifact_store.events import StoreWarning
from triptych.artifact_store.record import SharedKey, digest_of, write_record
from triptych.artifact_store.remote import Remote
from triptych.artifact_store.store import Store
from triptych.support.config import config, override
from triptych.support.remote_url import UntrustedRemoteError

NOBODY = 65534
KEY = b"a key of sixteen"
pytestmark = [
    pytest.mark.skipif(not hasattr(os, "geteuid"), reason="owners and modes are of POSIX"),
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
]
needs_second_user = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can act as a second user"
)


@pytest.fixture(autouse=True)
def no_warning_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events_module, "_WARNED", set())


@pytest.fixture
def folder() -> Iterator[Path]:
    """One that other users can reach, which pytest's own is not."""
    path = Path(tempfile.mkdtemp())
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


def published(root: Path, signer: SharedKey | None) -> Path:
    """A directory of several users, as its writer makes it."""
    store = store_in(root.parent / "writer", signer=signer, remote=Remote(root.as_uri(), writes=True, signer=signer))
    store.publish(key_of(1), entry_of(1))
    assert store.flush(30)
    return root


WAYS = ("shared", "file", "local")
CHANGES = {
    "root of a group": (".", 0o775, 0),
    "root of everybody": (".", 0o777, 0),
    "root that is sticky": (".", 0o1777, 0),
    "root of another": (".", 0o755, NOBODY),
    "ac of everybody": ("ac", 0o777, 0),
    "ac of another": ("ac", 0o755, NOBODY),
    "cas of a group": ("cas", 0o775, 0),
    "folder of records": ("ac/??", 0o777, 0),
    "folder of artifacts": ("cas/??", 0o777, 0),
    "record": ("ac/??/*", 0o666, 0),
    "record of another": ("ac/??/*", 0o644, NOBODY),
    "artifact": ("cas/??/*", 0o666, 0),
    "artifact of another": ("cas/??/*", 0o644, NOBODY),
}


def reader(folder: Path, root: Path, way: str, signer: SharedKey | None) -> Store:
    if way == "shared":
        return store_in(folder / "reader", shared=str(root), signer=signer)
    url = root.as_uri().replace("file:", f"{way}:")
    return store_in(folder / "reader", signer=signer, remote=Remote(url, signer=signer, timeout=20))


def forge(root: Path) -> None:
    """All that somebody can do who may write somewhere: entry 2 under the key of entry 1, in any way."""
    evil = entry_of(2)
    record = write_record(key_of(1), evil.facts, evil.artifacts, None)
    parts = {f"ac/{key_of(1)[:2]}/{key_of(1)}.json": record}
    parts |= {f"cas/{digest_of(data)[:2]}/{digest_of(data)}": data for data in evil.artifacts.values()}
    for name, data in parts.items():
        path = root / name
        with suppress(OSError):
            path.write_bytes(data)
        with suppress(OSError):
            path.parent.mkdir(exist_ok=True)
            path.with_suffix(".new").write_bytes(data)
            path.with_suffix(".new").replace(path)
        for above in (path.parent, path.parent.parent):
            with suppress(OSError):
                if path.read_bytes() != data:
                    above.rename(above.with_name("moved"))
                    path.parent.mkdir(parents=True)
                    path.write_bytes(data)


def forge_as_nobody(root: Path) -> bool:
    """Attack in a child that is another user; whether anything has changed."""
    before = [path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()]
    pid = os.fork()
    if not pid:
        try:
            os.setgroups([0] if root.stat().st_mode & 0o020 else [])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            forge(root)
        finally:
            os._exit(0)
    os.waitpid(pid, 0)
    return before != [path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("change", CHANGES)
def test_directory_that_others_could_have_written_is_refused(folder: Path, way: str, change: str) -> None:
    pattern, mode, owner = CHANGES[change]
    if owner and os.geteuid() != 0:
        pytest.skip("only root can give a file away")
    root = published(folder / "rem", None)
    for path in [root] if pattern == "." else root.glob(pattern):
        os.chown(path, owner or -1, -1)
        path.chmod(mode)
    store = reader(folder, root, way, None)
    with pytest.warns(StoreWarning, match="and records are not signed") as caught:
        found = [store.find(key_of(1)) for _ in range(3)]
    assert found == [None] * 3
    assert len(caught) == 1


@needs_second_user
@pytest.mark.filterwarnings("ignore::triptych.artifact_store.events.StoreWarning")
@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("way", WAYS)
def test_second_user_cannot_put_a_program_in(folder: Path, way: str, signed: bool) -> None:
    """Whatever is open to them; where nothing is, what was published is found."""
    signer = SharedKey(KEY) if signed else None
    forged = 0
    for number, (pattern, mode, owner) in enumerate({**CHANGES, "nothing": (".", 0o755, 0)}.values()):
        root = published(folder / f"{number}", signer)
        for path in [root] if pattern == "." else root.glob(pattern):
            os.chown(path, owner or -1, -1)
            path.chmod(mode)
        changed = forge_as_nobody(root)
        forged += changed
        shutil.rmtree(folder / "reader", ignore_errors=True)
        found = reader(folder, root, way, signer).find(key_of(1))
        assert found is None or found == entry_of(1)
        assert found is not None or changed or not signed
    assert forged >= 8, "the attacker did not get far"


@pytest.mark.parametrize("umask", [0, 0o002, 0o022, 0o077])
def test_writer_makes_what_readers_accept_whatever_the_umask(folder: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        root = published(folder / "deep" / "rem", None)
    finally:
        os.umask(before)
    assert all(not path.stat().st_mode & 0o022 for path in [root.parent, root, *root.rglob("*")])
    for way in WAYS:
        assert reader(folder, root, way, None).find(key_of(1)) == entry_of(1)
        shutil.rmtree(folder / "reader")


def test_local_directory_is_judged_to_the_file(tmp_path: Path) -> None:
    store = store_in(tmp_path / "s")
    store.publish(key_of(1), entry_of(1))
    files_of(tmp_path / "s", "cas")[0].chmod(0o666)
    with pytest.warns(StoreWarning, match="other users can write to"):
        assert store.find(key_of(1)) is None


UNAUTHENTICATED = (
    "http://host/cache",
    "http://127.0.0.1:8080",
    "redis://host",
    "redis://localhost:6379/0",
    "rediss://host?ssl_cert_reqs=none",
    "rediss://host?ssl_cert_reqs=optional",
    "rediss://host?ssl_check_hostname=false",
    "s3://bucket/folder",
    "gs://bucket",
    "ftp://host/folder",
    "hdfs://host/folder",
    "simplecache::https://host/folder",
    "filecache::local:///folder",
)
AUTHENTICATED = ("https://host/cache", "rediss://host", "rediss://u:p@host:1/0?ssl_cert_reqs=required")
JUDGED = ("file:///folder", "local:///folder", "unix:///run/redis.sock", "memory://here")


@pytest.mark.parametrize("url", UNAUTHENTICATED)
def test_remote_that_nobody_vouches_for_is_refused_at_the_setting(url: str) -> None:
    with pytest.raises(UntrustedRemoteError, match="TRIPTYCH_CACHE_KEY_FILE"), override(cache_remote=url):
        pass
    with override(cache_remote=url, cache_key_file="key"):
        assert config().cache_remote == url
    with override(cache_remote=url, cache_remote_runs_unverified_code=True):
        assert config().cache_remote == url


def test_refusal_is_at_the_line_that_needs_the_store(tmp_path: Path) -> None:
    text = "import triptych as tt\n\n\n@tt.jit\ndef f(n: tt.Int32):\n    return n\n\n\nf(1)\n"
    (tmp_path / "program.py").write_text(text)
    done = run(str(tmp_path / "program.py"), TRIPTYCH_CACHE="1", TRIPTYCH_CACHE_REMOTE="http://me:s3cret@host")
    assert done.stderr.count("  File ") == 1, done.stderr
    assert "[TT0734]" in done.stderr
    assert "program.py:9:1" in done.stderr
    assert "s3cret" not in done.stderr


@pytest.mark.parametrize("url", AUTHENTICATED + JUDGED)
def test_remote_with_tls_or_an_owner_needs_no_key(url: str) -> None:
    with override(cache_remote=url):
        assert config().cache_remote == url


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl to make a certificate")
def test_server_with_a_certificate_that_nobody_signed_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TLS needs no key because whoever answers has to show who they are."""
    files = [str(tmp_path / "key.pem"), str(tmp_path / "certificate.pem")]
    words = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    subprocess.run([*words, "-keyout", files[0], "-out", files[1]], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(files[1], files[0])
    evil = entry_of(2)
    with http_store() as server:
        monkeypatch.setattr(server, "handle_error", lambda *_: None)  # of a client that hangs up
        server.socket = context.wrap_socket(server.socket, server_side=True)
        server.content = {f"/cache/cas/{digest_of(data)}": data for data in evil.artifacts.values()}
        server.content[f"/cache/ac/{key_of(1)}"] = write_record(key_of(1), evil.facts, evil.artifacts, None)
        url = server.url.replace("http://127.0.0.1", "https://localhost")
        with pytest.warns(StoreWarning, match="CERTIFICATE_VERIFY_FAILED"):
            assert store_in(tmp_path / "s", remote=Remote(url, timeout=20)).find(key_of(1)) is None
        assert server.asked == []


def test_forged_answers_of_a_server(tmp_path: Path) -> None:
    """Whoever answers in its place: signed, it is a miss; dared, it is run, and that is said at every start."""
    evil = entry_of(2)
    (tmp_path / "key").write_bytes(KEY)
    with http_store() as server:
        server.content = {f"/cache/cas/{digest_of(data)}": data for data in evil.artifacts.values()}
        server.content[f"/cache/ac/{key_of(1)}"] = write_record(key_of(1), evil.facts, evil.artifacts, None)
        signed = {"cache_key_file": str(tmp_path / "key"), "cache_dir": str(tmp_path / "signed")}
        with override(cache=True, cache_remote=server.url, cache_remote_timeout=20.0, **signed):
            store = default_store()
            assert store is not None
            with pytest.warns(StoreWarning, match="not signed"):
                assert store.find(key_of(1)) is None
        dared = {"cache_remote_runs_unverified_code": True, "cache_dir": str(tmp_path / "dared")}
        with override(cache=True, cache_remote=server.url, cache_remote_timeout=20.0, **dared):
            store = default_store()
            assert store is not None
            with pytest.warns(StoreWarning, match="can have this process run their code"):
                assert store.find(key_of(1)) == evil
