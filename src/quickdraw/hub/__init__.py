"""The Hugging Face Hub: what is sent there, and how."""
