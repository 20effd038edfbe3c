"""Contact sheets: cubes of a split, one pooled episode."""
