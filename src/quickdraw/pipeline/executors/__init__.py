"""Where tasks run: one file per engine."""
