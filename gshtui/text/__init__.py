"""Pure operations on text: patterns, cuts, widths, units. No I/O; imports no other room."""
