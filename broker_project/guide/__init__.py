"""The parts of the guide that come from the code: reference pages, drawings of states; by `./broker docs`."""
