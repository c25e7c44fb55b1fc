"""What a compiled kernel takes of a GPU, and what makes it slow."""
