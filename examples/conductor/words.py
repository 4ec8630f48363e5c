"""A local program as a tool: JSON in, JSON out. `servers.json` says how it is run."""

import json
import sys

asked = json.load(sys.stdin)
text = asked["arguments"]["text"]
json.dump({"words": len(text.split()), "lines": len(text.splitlines()), "characters": len(text)}, sys.stdout)
