"""A server of FastMCP with one tool, over HTTP, as its documentation shows it.

usage: python fastmcp-echo.py PORT
"""
import sys

from fastmcp import FastMCP

server = FastMCP("echo")


@server.tool
def echo(message: str) -> str:
    return "Echo: " + message


server.run(transport="http", host="127.0.0.1", port=int(sys.argv[1]), show_banner=False,
           log_level="ERROR")
