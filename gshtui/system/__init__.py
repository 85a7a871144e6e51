"""What the operating system gives: private files, locks, processes, terminals. No other room."""
