"""In which order row steps run."""
