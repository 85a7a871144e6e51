"""Tools on code: definitions and problems by language servers, and the persistent Python."""
