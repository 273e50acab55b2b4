"""What is measured of messages for later. The frame is given its sources from outside: the core does not know them."""
