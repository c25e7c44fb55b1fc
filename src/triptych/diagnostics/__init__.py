"""Error classes of launches, tensors, exported code and checks, each with its code and its words."""
