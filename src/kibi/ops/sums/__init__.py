"""Sums of products and how they become outputs: what convolutions and fully connected layers share."""
