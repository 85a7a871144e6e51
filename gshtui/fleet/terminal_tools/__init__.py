"""The tools that read and use other terminals."""
