"""Measurements, and long runs of fuzzers. They compile: what the store keeps would be measured instead."""

import os

os.environ.setdefault("TRIPTYCH_CACHE", "0")
