"""Pictures, documents and sounds that accompany prompts: read, checked, kept once by hash, and counted."""
