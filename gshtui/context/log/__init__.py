"""The conversation as an append-only log of blocks, the overlays on it, and their tokens. Pure but for its ports."""
