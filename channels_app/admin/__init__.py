"""Staff's pages of the registry."""
