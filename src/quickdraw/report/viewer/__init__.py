"""Episodes for Rerun; the only room that knows it."""
