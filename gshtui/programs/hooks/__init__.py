"""The hooks that a program is started with: their configuration, their reports, and answers through them."""
