"""Synthetic tasks of `pooled_episodes_v1` with known truth, written independently of every reader and writer here.

Parquet is pyarrow's own, video is ffmpeg's binary, and matrices and log codes have a second implementation.
"""

from quickdraw.sim.pooled.recordings import write_recordings

__all__ = ["write_recordings"]
