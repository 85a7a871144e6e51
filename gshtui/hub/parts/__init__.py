"""The parts of a hub, in the order in which `composition` starts them: each makes what it is for, and stops it."""
