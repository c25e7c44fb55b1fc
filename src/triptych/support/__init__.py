"""Standard-library-only foundations that every stage may import: errors, source spans, configuration, registries."""
