"""What agents know beyond one conversation: notes by agent, as a section of each request and as commands."""
