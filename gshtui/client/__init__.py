"""How a face speaks with a hub in another process: nothing here belongs to a hub, and nothing of one is loaded."""
