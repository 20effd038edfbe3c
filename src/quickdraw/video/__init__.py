"""The only room that knows PyAV: decode, select, scale and encode in one pass; join without re-encoding."""
