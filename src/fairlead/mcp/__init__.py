"""The tools as an MCP server, over stdio and streamable HTTP. The only importer of `mcp`."""
