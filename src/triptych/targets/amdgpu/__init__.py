"""The AMD target."""
