"""What we know about a program, as data: its prompt, questions, keys, modes and hooks, in one TOML file each."""
