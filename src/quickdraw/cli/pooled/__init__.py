"""`quickdraw pooled`: the tools of the format `pooled_episodes_v1`, one a file."""
