"""Long acts on many rows (bulk cancel, redrive, replay): in batches, with progress, to be stopped and resumed."""
