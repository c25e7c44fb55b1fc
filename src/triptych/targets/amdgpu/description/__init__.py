"""What AMD's chips are and have, as data: their sizes, their instructions, the errors of compiling for them."""
