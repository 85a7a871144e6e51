"""Private files and folders, locks on them, and watches."""
