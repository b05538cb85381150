"""Files of the user's machine."""
