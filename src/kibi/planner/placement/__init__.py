"""Where in an arena each buffer lies."""
