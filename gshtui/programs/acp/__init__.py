"""The client side of the Agent Client Protocol."""
