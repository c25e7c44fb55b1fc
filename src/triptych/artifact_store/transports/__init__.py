"""Transports to a remote store, each in a module of its own that is imported when a URL asks for it.

All offer `connect(url, timeout, trusts_anyone=...)`, and name the packages that they need beside the standard library
(`PACKAGES`). A connection reads and writes parts by name, and may raise anything: to whoever asks, that is a remote
store that cannot be used now; `NotAnEntry` is about one part only. With `trusts_anyone`, records are signed, so it does
not matter who can write.
"""
