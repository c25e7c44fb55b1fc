"""The trace as `cute` sees it: the current one, the device it is for, and protocols of atoms."""
