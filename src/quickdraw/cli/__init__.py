"""The `quickdraw` command."""
