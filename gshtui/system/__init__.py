"""Access to the operating system: private files, locks, processes, terminals. Imports no other room."""
