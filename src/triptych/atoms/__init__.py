"""Instructions that threads execute together, as data: one entry serves the language and every target."""
