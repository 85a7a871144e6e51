"""What language servers and grammars know of code.

`language_servers.py` has the language servers of a hub and what they say of a change, `language_server.py` starts,
watches and ends one, `language_session.py` is what it was shown and its problems, `lsp_client.py` its wire,
`language_table.toml` those that are known, `code_queries.py` definitions and uses, `code_outline.py` outlines by
tree-sitter. The file tools are wrapped in `tools/code/change_problems.py`; the command is
`tools/code/code_commands.py`. MCP and language servers are started by `guard/sandbox/stdio_server.py`.
"""
