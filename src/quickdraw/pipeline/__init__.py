"""plan -> map -> pack -> publish, over any source of episodes and any executor."""
