"""Vector indexes: their definitions (`definitions`), entries and search (`index`)."""
