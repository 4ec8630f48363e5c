"""Python, the command line and HTTP give the same answers, byte for byte."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from conftest import ROOT

from toolroute import Router

CATALOGS = ["examples/catalog", "tests/data/captured", "tests/data/mixed"]
PROMPTS = [
    "send an email to Dana",
    "The new version is broken in production, go back to the one before",
    "raed the file notes.txt and then delete it",
    "what is love?",
    "Wie wird das Wetter morgen?",
]
COMMAND = [sys.executable, "-m", "toolroute"]


@contextmanager
def served(catalog: Path) -> Iterator[str]:
    command = [*COMMAND, "serve", "--tools", str(catalog), "--addr", "127.0.0.1:0", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            told = "".join(iter(server.stdout.readline, "}\n"))
            yield json.loads(told + "}")["listening"]
        finally:
            server.terminate()


def over_http(address: str, prompt: str) -> str:
    body = json.dumps({"prompt": prompt, "limit": 4}).encode()
    headers = {"content-type": "application/json"}
    request = urllib.request.Request(f"{address}/v1/select", body, headers)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return answer.read().decode()


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("catalog", CATALOGS)
def test_the_answers_are_the_same_bytes(catalog):
    path = ROOT / catalog
    router = Router.from_path(path)
    with served(path) as address:
        for prompt in PROMPTS:
            own = router.select(prompt, k=4).to_json()
            assert over_http(address, prompt).strip() == own
            command = [*COMMAND, "route", "--tools", str(path), "--json", "-l", "4", prompt]
            run = subprocess.run(command, check=True, capture_output=True, text=True)
            # On the command line the JSON is laid out for people.
            assert json.loads(run.stdout) == json.loads(own)
            assert re.sub(r"\s", "", run.stdout) == re.sub(r"\s", "", own)


def test_the_command_line_ends_with_its_exit_code(tmp_path):
    run = subprocess.run([*COMMAND, "route", "--nosuch"], capture_output=True, text=True)
    assert run.returncode == 2 and "--nosuch" in run.stderr
    run = subprocess.run([*COMMAND, "--version"], check=True, capture_output=True, text=True)
    assert run.stdout.startswith("toolroute ")
