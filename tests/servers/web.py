#!/usr/bin/env python3
"""An MCP server over Streamable HTTP, and a small HTTP API, on a free port that it prints.

Answers with JSON and keeps no session, as the protocol allows. `/api/...` echoes what it was asked;
`/api/down` fails with 503. Standard library only.
"""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

TOOLS = [{"name": "greet", "description": "Greets", "annotations": {"readOnlyHint": True},
          "inputSchema": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}}}]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def body(self):
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def reply(self, status, value):
        text = b"" if value is None else json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def echo(self):
        url, body = urlsplit(self.path), self.body()
        if url.path == "/api/down":
            return self.reply(503, {"error": "RAW-unavailable"})
        return self.reply(200, {
            "method": self.command, "path": url.path, "query": parse_qs(url.query),
            "trace": self.headers.get("X-Trace"), "key": self.headers.get("X-Api-Key"),
            "body": json.loads(body) if body else None})

    def do_GET(self):
        if self.path.startswith("/api"):
            return self.echo()
        return self.reply(405, None)

    def do_DELETE(self):
        return self.reply(405, None)

    def do_POST(self):
        if self.path.startswith("/api"):
            return self.echo()
        message = json.loads(self.body())
        method, number = message.get("method"), message.get("id")
        if number is None:
            return self.reply(202, None)
        if method == "initialize":
            result = {"protocolVersion": message["params"]["protocolVersion"],
                      "capabilities": {"tools": {}}, "serverInfo": {"name": "http", "version": "1"}}
        elif method == "tools/list":
            result = {"tools": TOOLS}
        elif method == "tools/call":
            name = message["params"]["arguments"]["name"]
            key = self.headers.get("X-Api-Key")
            result = {"content": [{"type": "text", "text": f"hello {name} with {key}"}]}
        else:
            result = {}
        return self.reply(200, {"jsonrpc": "2.0", "id": number, "result": result})


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
