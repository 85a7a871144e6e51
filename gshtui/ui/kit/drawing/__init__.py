"""What rows are drawn from: themes and contrast, highlighted code, diffs, pages, pictures and figures."""
