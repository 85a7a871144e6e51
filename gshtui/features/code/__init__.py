"""What language servers know of code, and the command for it.

`language_servers.py` has the language servers of a hub and what they say of a change, `language_server.py` starts,
watches and ends one, `language_session.py` is what it was shown and its problems, `lsp_client.py` its wire,
`language_table.toml` those that are known, `code_queries.py` definitions and uses, `code_part.py` what the hub
has of them. The file tools ask them by `tools/files/change_problems.py`; outlines are `tools/files/code_outline.py`.
MCP and language servers are started by `guard/sandbox/stdio_server.py`.
"""
