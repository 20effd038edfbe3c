"""Bytes on disk to values and back; the only rooms that know Arrow."""
