"""Pictures, documents and sounds that accompany prompts: read, checked, kept once by hash, and counted.

`attachment.py` has a process of its own read each (`media_process.py`, with Pillow and pypdf, little memory and
time), `media_files.py` keeps it once by hash in the record's folder, `media_tokens.py` counts it;
`providers/wire/media_notes.py` says what a model cannot take.
"""
