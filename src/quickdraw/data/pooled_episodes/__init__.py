"""One recorded episode of a pooled task to one episode, or to several pieces of one (contract pooled_episodes_v1)."""
