"""The identity of a Python function with everything that it depends on: the key of the cache, and guards."""
