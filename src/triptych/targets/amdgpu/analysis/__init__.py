"""What is proven of AMD's code."""
