"""What is done for shells: their plugin, their history, recorded and sandboxed commands."""
