"""A program in its pane: the view of it, guarded typing into it, and what its own protocol can do beside its screen."""
