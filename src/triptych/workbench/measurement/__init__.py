"""How fast is it: samples with their interval, two sides in turns, cold and hot, roofs of the machine, and records."""
