"""Native objects of the runtime (thread pool, race detector) in one store of the test session.

Tests run without a store, so that each process would compile the race detector again: ten seconds of LLVM, the same for
every program. Its object depends on nothing that a test changes. Where a test turns the store on, that one is used.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from triptych.artifact_store.configured import default_store
from triptych.artifact_store.store import Store
from triptych.targets.cpu.runtime import kept_object


@pytest.fixture(scope="session", autouse=True)
def runtime_objects(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Workers of one session have a folder each, below a common one."""
    own = tmp_path_factory.getbasetemp()
    common = own.parent if own.name.startswith("popen-") else own
    store = Store(str(common / "runtime_objects"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kept_object, "default_store", lambda: default_store() or store)
        yield
