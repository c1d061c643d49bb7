"""The memory as an MCP server: tools, resources and prompts for assistants, on stdio and over HTTP.

The protocol is the official SDK's. What the tools take and answer comes from the table of operations; a call goes
through a handle that the command line or the key alone determines.
"""
