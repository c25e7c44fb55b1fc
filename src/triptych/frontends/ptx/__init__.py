"""Inline PTX: emitted as it is where the machine reads it, and lowered instruction by instruction elsewhere."""
