"""Arguments and results of compiled functions: specifications, kinds, C values, streams and events."""
