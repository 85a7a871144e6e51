"""Pure operations on text: patterns, cuts, widths, units. No input or output, no other room."""
