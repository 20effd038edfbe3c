"""The dataset card: README.md for the Hugging Face Hub."""
