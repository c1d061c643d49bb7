"""The memory as an MCP server: tools, resources and prompts for assistants, on stdio and over HTTP.

The official SDK does the protocol. Arguments and answers of the tools are derived from the table of operations; a call
runs over a memory narrowed by the command line or by the caller's key.
"""
