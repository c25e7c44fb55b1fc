"""Programs that change something while they are traced, or depend on their process, in several processes."""
