"""Usage of tables: throttling, the most used keys, and contributor insights."""
