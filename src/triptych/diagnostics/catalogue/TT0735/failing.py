import tempfile

from triptych.artifact_store.store import Store

with tempfile.TemporaryDirectory() as folder:
    with open(folder + "/programs.tar", "w") as file:
        file.write("not an archive")
    Store(folder + "/store").import_(folder + "/programs.tar")
