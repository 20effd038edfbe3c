"""The project's benchmark: what a build costs beside bare ffmpeg and beside what people do today. `scripts/bench`."""
