"""The sections of the page, one a file, and what they draw with."""
