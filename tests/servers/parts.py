#!/usr/bin/env python3
"""An MCP server over stdio whose answers have parts: errors with a picture and a value, and a value
that is too long. Standard library only.

    parts.py MARK
"""

import json
import sys

READ = {"readOnlyHint": True}
ANY = {"type": "object", "properties": {}}
ROWS = {"type": "object", "properties": {"rows": {"type": "array", "items": {"type": "object"}}},
        "required": ["rows"], "additionalProperties": False}
TOOLS = [
    {"name": "scan_page", "description": "Scans a page of paper", "inputSchema": ANY, "annotations": READ},
    {"name": "list_cities", "description": "Lists all cities of the world", "inputSchema": ANY, "annotations": READ,
     "outputSchema": ROWS},
]
SCANNED = {"isError": True, "structuredContent": {"page": 3}, "content": [
    {"type": "text", "text": "the paper is stuck"}, {"type": "image", "data": "aGk=", "mimeType": "image/png"}]}
CITIES = {"content": [{"type": "text", "text": "see the value"}],
          "structuredContent": {"rows": [{"city": f"city {n}", "people": n} for n in range(4000)]}}
RESULTS = {
    "initialize": lambda params: {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}},
                                  "serverInfo": {"name": "parts", "version": "1"}},
    "tools/list": lambda params: {"tools": TOOLS},
    "tools/call": lambda params: SCANNED if params["name"] == "scan_page" else CITIES,
}

for line in sys.stdin:
    message = json.loads(line)
    if message.get("id") is not None:
        result = RESULTS.get(message["method"], lambda params: {})(message.get("params") or {})
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}) + "\n")
        sys.stdout.flush()
