"""The redacted observability log: its records, who writes them and who reads them."""
