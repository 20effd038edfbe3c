"""One file per source of episodes, and the door that builds datasets from them."""
