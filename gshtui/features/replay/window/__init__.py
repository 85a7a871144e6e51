"""The window that plays a recorded conversation."""
