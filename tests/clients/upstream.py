"""A language model's API for tests: answers as OpenAI and Anthropic do, from a recording in this file, and tells on
stdout, a JSON line a request, what it was sent. No network, no model, no library."""

import json
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

CHAT = {
    "id": "chatcmpl-1", "object": "chat.completion", "created": 1700000000, "model": "recorded",
    "choices": [{"index": 0, "finish_reason": "tool_calls", "message": {"role": "assistant", "content": None, "tool_calls": [
        {"id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": "{\"city\": \"Paris\"}"}}]}}],
    "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
}

CHAT_STREAM = [
    {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1700000000, "model": "recorded",
     "choices": [{"index": 0, "delta": {"role": "assistant", "content": text}, "finish_reason": None}]}
    for text in ["The ", "weather ", "in Paris: ", "ünïcode ☀"]
] + [{"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1700000000, "model": "recorded",
      "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}]

RESPONSE = {
    "id": "resp_1", "object": "response", "created_at": 1700000000, "status": "completed", "model": "recorded",
    "output": [{"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
                "content": [{"type": "output_text", "text": "Sunny.", "annotations": []}]}],
    "parallel_tool_calls": True, "tool_choice": "auto", "tools": [],
    "usage": {"input_tokens": 10, "output_tokens": 2, "total_tokens": 12,
              "input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}},
}

RESPONSE_STREAM = [
    ("response.created", {"type": "response.created", "sequence_number": 0, "response": {**RESPONSE, "output": []}}),
    ("response.output_text.delta", {"type": "response.output_text.delta", "sequence_number": 1, "item_id": "msg_1",
                                    "output_index": 0, "content_index": 0, "delta": "Sunny.", "logprobs": []}),
    ("response.completed", {"type": "response.completed", "sequence_number": 2, "response": RESPONSE}),
]

MESSAGE = {
    "id": "msg_1", "type": "message", "role": "assistant", "model": "recorded", "stop_reason": "tool_use", "stop_sequence": None,
    "content": [{"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {"city": "Paris"}}],
    "usage": {"input_tokens": 10, "output_tokens": 5},
}

MESSAGE_STREAM = [
    ("message_start", {"type": "message_start", "message": {**MESSAGE, "content": [], "stop_reason": None}}),
    ("content_block_start", {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
    ("content_block_delta", {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "It is "}}),
    ("content_block_delta", {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "sunny ☀"}}),
    ("content_block_stop", {"type": "content_block_stop", "index": 0}),
    ("message_delta", {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": {"output_tokens": 5}}),
    ("message_stop", {"type": "message_stop"}),
]

# Between two events: long enough that one who waits for the whole is caught.
PAUSE = 0.05


class Upstream(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        asked = json.loads(body)
        told = {"path": self.path, "authorization": self.headers.get("authorization"), "key": self.headers.get("x-api-key"),
                "tools": [tool.get("name") or tool.get("function", {}).get("name") or tool["type"] for tool in asked.get("tools", [])]}
        print(json.dumps(told), flush=True)
        if asked.get("model") == "refused":
            return self.answer(429, {"error": {"type": "rate_limit_error", "message": "slow down"}}, {"retry-after": "0"})
        recorded = {"/v1/chat/completions": (CHAT, [(None, event) for event in CHAT_STREAM]),
                    "/v1/responses": (RESPONSE, RESPONSE_STREAM), "/v1/messages": (MESSAGE, MESSAGE_STREAM)}
        if self.path.split("?")[0] not in recorded:
            return self.answer(404, {"error": {"type": "not_found", "message": self.path}})
        whole, events = recorded[self.path.split("?")[0]]
        if asked.get("stream"):
            return self.stream(events, done=self.path.startswith("/v1/chat"))
        return self.answer(200, whole)

    def answer(self, status, value, headers={}):
        body = json.dumps(value).encode()
        self.send_response(status)
        for name, text in {"content-type": "application/json", "content-length": str(len(body)), **headers}.items():
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(body)

    def stream(self, events, done):
        self.send_response(200)
        self.send_header("content-type", "text/event-stream; charset=utf-8")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        texts = [(f"event: {name}\n" if name else "") + f"data: {json.dumps(data, ensure_ascii=False)}\n\n" for name, data in events]
        for text in texts + (["data: [DONE]\n\n"] if done else []):
            data = text.encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            self.wfile.flush()
            time.sleep(PAUSE)
        self.wfile.write(b"0\r\n\r\n")

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 0), Upstream)
    print(json.dumps({"port": server.server_address[1]}), flush=True)
    server.serve_forever()
