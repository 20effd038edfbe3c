"""What is typed, to options of their types: arguments, defaults from configs/ by Hydra, and the text of `--help`."""
