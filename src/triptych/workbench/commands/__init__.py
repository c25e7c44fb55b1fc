"""The command line: seeing every stage of a function, the error catalogue, the settings."""
