"""One adapter for each API: requests from our history, and answers as pieces of ours."""
