"""One program as an agent: launched, watched by all sources of its status, and written to."""
