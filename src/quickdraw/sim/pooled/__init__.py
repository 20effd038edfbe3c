"""Synthetic `pooled_episodes_v1` tasks with truth in closed form and named defects; shares no code with the reader."""
