"""What the recorder in `writer` is made of: samples coming in, one take, its files, and how they are published."""
