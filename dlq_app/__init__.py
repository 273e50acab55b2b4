"""Dead letters and what operators do about them."""
