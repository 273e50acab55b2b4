"""A history to try reports, the lake and pruning on: made by seed, all of it finished and past."""
