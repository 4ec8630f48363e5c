"""What scripts/offline.sh runs in a namespace without a network. Standard library only.

    offline.py BINARY REPOSITORY FOLDER
"""

import json
import socket
import subprocess
import sys
import time

QUERY = "search my notes for words"


def without_a_network():
    with open("/proc/net/dev") as file:
        interfaces = [line.split(":")[0].strip() for line in file if ":" in line]
    assert interfaces in ([], ["lo"]), f"expected no interface, found {interfaces}"
    try:
        socket.create_connection(("127.0.0.1", 9), timeout=2)
    except ConnectionRefusedError:
        raise AssertionError("the loopback is up") from None
    except OSError as error:
        print(f"no network: interfaces {interfaces}, and even the loopback says: {error}")


def route(binary, repository):
    ran = subprocess.run(
        [binary, "route", "--tools", f"{repository}/examples/catalog", "--json", "read a text file"],
        capture_output=True, text=True, check=True)
    answer = json.loads(ran.stdout)
    assert answer["strategy"] == "hybrid" and answer["tools"], answer
    print(f"route: {answer['strategy']}, first {answer['tools'][0]['id']}")


class Gateway:
    def __init__(self, binary, servers):
        self.process = subprocess.Popen([binary, "mcp", "--servers", servers], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.number = 0

    def say(self, message):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()

    def ask(self, method, params):
        self.number += 1
        self.say({"id": self.number, "method": method, "params": params})
        for line in self.process.stdout:
            message = json.loads(line)
            if message.get("id") == self.number:
                assert "error" not in message, message
                return message["result"]
        raise AssertionError("the gateway ended")

    def call(self, tool, arguments):
        return self.ask("tools/call", {"name": tool, "arguments": arguments})["content"][0]["text"]


def gateway(binary, repository, folder):
    servers = f"{folder}/servers.json"
    with open(servers, "w") as file:
        json.dump({"mcpServers": {"notes": {"command": sys.executable,
                                            "args": [f"{repository}/tests/servers/notes.py", folder]}}}, file)
    gateway = Gateway(binary, servers)
    gateway.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {},
                               "clientInfo": {"name": "offline", "version": "1"}})
    gateway.say({"method": "notifications/initialized"})
    ids, began = [], time.monotonic()
    while "notes__search_notes" not in ids and time.monotonic() - began < 60:
        found = json.loads(gateway.call("find_tools", {"query": QUERY}))
        ids = [tool["id"] for tool in found["tools"]]
        time.sleep(0.05)
    assert ids and ids[0] == "notes__search_notes", ids
    answer = gateway.call("call_tool", {"tool_name": ids[0], "arguments": {"query": "milk"}})
    assert answer == "found: milk", answer
    gateway.process.stdin.close()
    assert gateway.process.wait(timeout=30) == 0
    print(f"gateway: found {ids[0]} and called it: {answer}")


def main():
    binary, repository, folder = sys.argv[1:]
    without_a_network()
    route(binary, repository)
    gateway(binary, repository, folder)
    print("offline: ok")


if __name__ == "__main__":
    main()
