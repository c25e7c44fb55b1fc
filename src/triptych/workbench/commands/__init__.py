"""Command line: every stage of a function, the error catalogue, the settings."""
