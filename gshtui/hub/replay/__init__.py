"""A recorded conversation, played to a window as if it happened."""
