"""One episode as a film and a sheet of its frames."""
