"""Plan files and the core that runs them."""
