"""Programs that read something, are called until they are warm, and then find one thing changed."""
