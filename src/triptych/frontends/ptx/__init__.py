"""Inline PTX: emitted as it is where the machine reads it, and elsewhere by what its instructions mean."""
