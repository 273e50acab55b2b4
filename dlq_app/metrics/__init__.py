"""What is measured of dead letters. The frame is given its sources from outside: the core does not know them."""
