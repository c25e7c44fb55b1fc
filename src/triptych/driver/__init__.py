"""Driver: `@jit` calls, `compile`, batches of compilations; keys, store and stages in the order of a compilation."""
