"""One request, made from log, overlays and settings: its sections in order, their limits, and its record."""
