"""AMD's chips as data: their sizes and their instructions."""
