"""A turn, or a workflow, without a window: its questions and what it prints."""
