"""The recording format `pooled_episodes_v1`: read, written, checked and mended. One idea a file."""
