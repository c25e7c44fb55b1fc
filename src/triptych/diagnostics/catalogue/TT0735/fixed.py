import tempfile

from triptych.artifact_store.store import Store

with tempfile.TemporaryDirectory() as folder:
    Store(folder + "/store").export(folder + "/programs.tar")
    Store(folder + "/other").import_(folder + "/programs.tar")
