"""Serves the memory over MCP, with tools, resources and prompts for assistants, on stdio and over HTTP.

The official SDK implements the protocol. The arguments and answers of the tools are derived from the table of
operations. A call runs on a memory that is limited by the command line or by the caller's key.
"""
