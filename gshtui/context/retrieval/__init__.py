"""Finding what was before: shell history, past conversations, the log; for agents on demand, for people by command."""
