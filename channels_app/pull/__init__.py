"""The steps of consumers that ask: lease, poll, acknowledge. The same rows and the same moves as push."""
