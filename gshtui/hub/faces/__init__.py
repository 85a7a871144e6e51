"""What the hub does for faces in other processes: windows, turns, commands, and native agents with their panes."""
