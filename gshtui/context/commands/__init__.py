"""The `context` commands and the folder `/context`."""
