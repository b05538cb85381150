"""Variables, branches, loops, and the rows that the caller hands over."""
