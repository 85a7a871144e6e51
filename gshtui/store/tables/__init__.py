"""One module for each table, or family of tables: its rows as values, its queries, and what it writes."""
