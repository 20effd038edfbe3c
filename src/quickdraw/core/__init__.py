"""Pure values and pure functions on arrays: no file, no configuration, no log."""
