"""The Signal operators that remember something, over several inferences, and what is refused of them all."""
