"""What `check` looks at, a file a matter; `rules` is the table of all there is to find."""
