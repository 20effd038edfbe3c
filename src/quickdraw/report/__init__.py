"""Built datasets for the eye; reads them through `formats` only."""
