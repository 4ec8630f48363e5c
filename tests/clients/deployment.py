"""What scripts/container.sh runs: the steps of the Dockerfile, the unit of systemd and the example for Kubernetes.

    deployment.py root BINARY REPOSITORY WORK      # in namespaces of mounts and network, as root there
    deployment.py image BINARY REPOSITORY PROGRAM  # PROGRAM is docker or podman

WORK is an empty folder; what is mounted in it goes with the namespace. Needs PyYAML; all else is the standard
library. Each check prints a line; the first that fails ends it.
"""

import contextlib
import ctypes
import fcntl
import json
import os
import re
import shlex
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

import yaml

CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
TOKEN = "a-token-of-tests-0123456789abcdef"
PROMPT = "The new version is broken in production, go back to the one before"
PORT = 8765
# Of <linux/prctl.h>: no new privileges, and no memory that is written and then executed (Linux 6.3).
NO_NEW_PRIVILEGES, DENY_WRITE_EXECUTE = 38, 65


def ask(path, body=None, host="localhost"):
    """The status and the text of an answer; 0 where nothing listens."""
    headers = {"Host": host, "Content-Type": "application/json", "Authorization": f"Bearer {TOKEN}"}
    data = json.dumps(body).encode() if body else None
    request = urllib.request.Request(f"http://127.0.0.1:{PORT}{path}", data, headers)
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
    except OSError:
        return 0, ""


def wait_until(what, is_true, seconds=30):
    began = time.monotonic()
    while not is_true():
        assert time.monotonic() - began < seconds, f"{what}: not after {seconds} s"
        time.sleep(0.05)


def check_answers(expected, host="localhost"):
    wait_until("/readyz is 200", lambda: ask("/readyz")[0] == 200)
    status, text = ask("/v1/select", {"prompt": PROMPT, "limit": 1}, host)
    assert status == 200, (status, text)
    found = json.loads(text)["tools"][0]["id"]
    assert found == expected, f"expected {expected} for the prompt, found {found}"


class Root:
    """A folder with the program and its libraries, in which a process is alone with them. Nothing in it can be written
    but the folders of `writable`; those of `read_only` can be filled from outside."""

    def __init__(self, work, binary, read_only, writable, user):
        self.top, self.outside = (Path(tempfile.mkdtemp(dir=work)) for _ in range(2))
        self.top.chmod(0o755)
        self.user = user
        bash = shutil.which("bash")
        self.copy(bash, "/usr/bin/bash")
        self.copy(CERTIFICATES, CERTIFICATES)
        for program in (bash, binary):
            linked = subprocess.run(["ldd", program], check=True, capture_output=True, text=True).stdout
            for library in re.findall(r"(/\S+) \(0x", linked):
                self.copy(library, library)
        self.inside("/usr/local/bin").mkdir(parents=True)
        self.inside("/usr/local/bin/toolroute").touch()
        for path in read_only + writable:
            self.inside(path).mkdir(parents=True)
            self.folder(path).mkdir(parents=True)
        self.mount("--bind", self.top, self.top)
        self.mount("--bind", binary, self.inside("/usr/local/bin/toolroute"))
        self.mount("-o", "remount,bind,ro", self.top)
        for path in read_only + writable:
            self.mount("--bind", self.folder(path), self.inside(path))
        for path in read_only:
            self.mount("-o", "remount,bind,ro", self.inside(path))
        for path in writable if user else []:
            os.chown(self.folder(path), user, user)

    def inside(self, path):
        return self.top / path.lstrip("/")

    def folder(self, path):
        """Where the content of a folder of `read_only` or `writable` lies outside."""
        return self.outside / path.lstrip("/")

    def copy(self, source, path):
        self.inside(path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, self.inside(path))

    @staticmethod
    def mount(*arguments):
        subprocess.run(["mount", *map(str, arguments)], check=True)

    def start(self, arguments, environment, **streams):
        """As process 1 of its own, without privileges."""
        def give_up_privileges():
            libc = ctypes.CDLL(None, use_errno=True)
            assert libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0) == 0
            libc.prctl(DENY_WRITE_EXECUTE, 1, 0, 0, 0)

        user = [f"--setgid={self.user}", f"--setuid={self.user}"] if self.user else []
        alone = [shutil.which("unshare"), "--pid", "--fork", f"--root={self.top}", "--wd=/", *user, "--"]
        environment = {"PATH": "/usr/local/bin:/usr/bin", **environment}
        return subprocess.Popen(alone + arguments, env=environment, preexec_fn=give_up_privileges, **streams)

    @contextlib.contextmanager
    def server(self, arguments, environment, most_bytes=None):
        """Serves, and must end by SIGTERM with 0, having taken no more memory than `most_bytes`."""
        process = self.start(arguments, environment)
        listed = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        wait_until("the process starts", lambda: listed.read_text())
        child = int(listed.read_text())
        try:
            yield
            used = 1024 * int(re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{child}/status").read_text()).group(1))
            assert most_bytes is None or used < most_bytes, f"it takes {used} bytes, of {most_bytes}"
            os.kill(child, signal.SIGTERM)
            assert process.wait(timeout=15) == 0, f"SIGTERM: it ended with {process.returncode}"
        finally:
            # It does not end with its parent: who changes the user loses that.
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
            process.wait()


def last_stage(dockerfile):
    """Instructions and their values in the last stage of a Dockerfile, in their order."""
    text = re.sub(r"^\s*#.*\n", "", dockerfile, flags=re.M).replace("\\\n", " ")
    lines = [line.split(None, 1) for line in text.splitlines() if line.strip()]
    start = max(number for number, line in enumerate(lines) if line[0] == "FROM")
    return lines[start:]


def one(stage, name):
    values = [value for instruction, value in stage if instruction == name]
    assert len(values) == 1, f"expected one {name} in the last stage, found {len(values)}"
    return values[0]


def health_check(stage):
    return json.loads(one(stage, "HEALTHCHECK").split("CMD", 1)[1])


def check_sources(work, repository, dockerfile):
    """What .dockerignore lets through is a workspace of cargo's, and the compiler is the one that it needs."""
    minimum = re.search(r'^rust-version = "(.+)"', (repository / "Cargo.toml").read_text(), re.M).group(1)
    assert f"FROM rust:{minimum}-" in dockerfile, f"expected the image of Rust {minimum} in the Dockerfile"
    if not os.access(shutil.which("cargo") or "", os.X_OK):
        print("!! NOT TRIED: whether what is compiled is complete (cargo is not installed)")
        return
    sources = Path(tempfile.mkdtemp(dir=work))
    for line in (repository / ".dockerignore").read_text().splitlines():
        for path in repository.glob(line[1:]) if line.startswith("!") else []:
            (sources / path.name).symlink_to(path)
    subprocess.run(["cargo", "metadata", "--locked", "--offline", "--no-deps", "--format-version", "1"],
                   cwd=sources, check=True, stdout=subprocess.DEVNULL)
    print("Dockerfile: what is compiled is complete")


def check_dockerfile(work, binary, repository, user):
    dockerfile = (repository / "Dockerfile").read_text()
    check_sources(work, repository, dockerfile)
    stage = last_stage(dockerfile)
    environment = dict(pair.split("=", 1) for pair in one(stage, "ENV").split())
    uid = int(one(stage, "USER").split(":")[0])
    steps = " ".join(value for instruction, value in stage if instruction == "RUN")
    assert uid > 0 and f"--uid {uid} " in steps, "the user of the image"
    assert "ca-certificates" in steps, "the certificates of the image"
    probe = health_check(stage)
    entry, command = json.loads(one(stage, "ENTRYPOINT")), json.loads(one(stage, "CMD"))

    root = Root(work, binary, ["/catalog"], [one(stage, "VOLUME")], uid if user else None)
    shutil.copytree(repository / "examples/catalog", root.folder("/catalog"), dirs_exist_ok=True)

    def probed():
        return root.start(probe, environment, stderr=subprocess.DEVNULL).wait()

    assert probed() == 1, "the health check passes without a server"
    refused = root.start(entry + command, environment, stderr=subprocess.PIPE, text=True)
    assert "token" in refused.communicate(timeout=30)[1] and refused.returncode == 2, "it starts without a token"
    with root.server(entry + command, {**environment, "TOOLROUTE_TOKEN": TOKEN}):
        check_answers("release__rollback")
        assert probed() == 0, "the health check fails beside a server"
        check_gateway(root, entry, environment)
    assert any(root.folder(environment["HOME"]).rglob("*.*")), "no vectors are kept"
    print("Dockerfile: `serve` is ready, routes a prompt, and ends by SIGTERM with 0")


def check_gateway(root, entry, environment):
    """`mcp` over stdin and stdout, in front of the server that runs beside it."""
    entries = {"beside": {"url": f"http://127.0.0.1:{PORT}/mcp", "headers": {"Authorization": f"Bearer {TOKEN}"}}}
    (root.folder(environment["HOME"]) / "servers.json").write_text(json.dumps({"mcpServers": entries}))
    servers = {**environment, "TOOLROUTE_SERVERS": f"{environment['HOME']}/servers.json"}
    gateway = root.start([*entry, "mcp"], servers, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def request(number, method, params):
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        gateway.stdin.write(json.dumps(message) + "\n")
        gateway.stdin.flush()
        return next(answer for answer in map(json.loads, gateway.stdout) if answer.get("id") == number)["result"]

    client = {"name": "deployment", "version": "1"}
    request(1, "initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client})
    gateway.stdin.write('{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
    inner = {"tool_name": "beside__find_tools", "arguments": {"query": PROMPT}}
    answer = request(2, "tools/call", {"name": "call_tool", "arguments": inner})["content"][0]["text"]
    assert json.loads(answer)["tools"][0]["id"] == "release__rollback", answer
    gateway.stdin.close()
    assert gateway.wait(timeout=30) == 0
    print("Dockerfile: `mcp` calls a tool of another server, and ends with its client")


def bytes_of(size):
    """Of `512M` as systemd writes it, or `512Mi` as Kubernetes does."""
    number, unit = re.fullmatch(r"(\d+)([MG])i?", size).groups()
    return int(number) << {"M": 20, "G": 30}[unit]


def check_unit(work, binary, repository, user):
    unit = repository / "examples/deploy/toolroute.service"
    pairs = [line.split("=", 1) for line in unit.read_text().splitlines() if re.match(r"\w+=", line)]
    values = dict(pairs)
    folders = {"%C": "/var/cache", "%E": "/etc", "%S": "/var/lib"}
    environment = dict(
        pair.split("=", 1) for pair in re.sub("%[CES]", lambda found: folders[found[0]], values["Environment"]).split())
    arguments = shlex.split(values["ExecStart"])
    catalog = arguments[arguments.index("--tools") + 1]

    writable = [f"/var/cache/{values['CacheDirectory']}", f"/var/lib/{values['StateDirectory']}"]
    root = Root(work, binary, [catalog], writable, 61184 if user else None)
    shutil.copytree(repository / "examples/catalog", root.folder(catalog), dirs_exist_ok=True)
    with root.server(arguments, environment, bytes_of(values["MemoryMax"])):
        check_answers("release__rollback")
    assert any(root.folder(writable[0]).rglob("*.*")), "no vectors are kept"
    print("systemd: the command of the unit is ready, routes a prompt, and ends by SIGTERM with 0")
    if shutil.which("systemd-analyze") is None:
        print("!! NOT TRIED: systemd-analyze verify (it is not installed)")
        return
    # Programs that the unit names may not be installed here.
    copy = Path(work) / unit.name
    copy.write_text(re.sub(r"^(Exec\w+=)\S+", rf"\g<1>{binary}", unit.read_text(), flags=re.M))
    subprocess.run(["systemd-analyze", "verify", "--man=no", copy], check=True)
    print("systemd: systemd-analyze verify finds nothing")


def write_config_map(folder, data):
    """As the kubelet does: links to files of a folder that is changed as a whole."""
    version = Path(tempfile.mkdtemp(prefix="..", dir=folder))
    version.chmod(0o755)
    for name, text in data.items():
        (version / name).write_text(text)
        if not (folder / name).is_symlink():
            (folder / name).symlink_to(f"..data/{name}")
    (folder / "..new").symlink_to(version.name)
    os.replace(folder / "..new", folder / "..data")


def check_kubernetes(work, binary, repository, user):
    documents = list(yaml.safe_load_all((repository / "examples/deploy/kubernetes.yaml").read_text()))
    kinds = {document["kind"]: document for document in documents}
    pod = kinds["Deployment"]["spec"]["template"]
    container, = pod["spec"]["containers"]
    service = kinds["Service"]
    assert service["spec"]["selector"].items() <= pod["metadata"]["labels"].items(), "the Service finds no pod"
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    assert all(port["targetPort"] in ports for port in service["spec"]["ports"]), "the Service's port"
    sources = {volume["name"]: volume for volume in pod["spec"]["volumes"]}
    paths = {volume["mountPath"]: sources[volume["name"]] for volume in container["volumeMounts"]}
    maps = [path for path, source in paths.items() if "configMap" in source]
    writable = [path for path in paths if path not in maps]

    stage = last_stage((repository / "Dockerfile").read_text())
    environment = dict(pair.split("=", 1) for pair in one(stage, "ENV").split())
    for variable in container["env"]:
        environment[variable["name"]] = TOKEN if "valueFrom" in variable else variable["value"]
    uid = pod["spec"]["securityContext"]["runAsUser"]
    assert uid == int(one(stage, "USER").split(":")[0]), "another user than the image's"
    root = Root(work, binary, maps, writable, uid if user else None)
    for path in maps:
        assert paths[path]["configMap"]["name"] == kinds["ConfigMap"]["metadata"]["name"], "the volume's ConfigMap"
        write_config_map(root.folder(path), kinds["ConfigMap"]["data"])

    command = container.get("command", json.loads(one(stage, "ENTRYPOINT"))) + container["args"]
    with root.server(command, environment, bytes_of(container["resources"]["limits"]["memory"])):
        for name in ("readinessProbe", "livenessProbe"):
            probe = container[name]["httpGet"]
            assert ports[probe["port"]] == PORT, f"{name}: another port than that of the program"
            wait_until(name, lambda: ask(probe["path"])[0] == 200)
        check_answers("release__rollback", service["metadata"]["name"])
        print("kubernetes: both probes pass, and the Service's name is answered")
        text = '{"server": "production", "name": "go_back", "description": "Goes back to the version before"}\n'
        write_config_map(root.folder(maps[0]), {next(iter(kinds["ConfigMap"]["data"])): text})
        wait_until("the changed ConfigMap", lambda: "production__go_back" in ask("/v1/tools")[1])
        check_answers("production__go_back")
    print("kubernetes: a changed ConfigMap is read, and SIGTERM ends it with 0")


def check_root(binary, repository, work):
    with socket.socket() as any_socket:
        # SIOCSIFFLAGS: the loopback, and no other interface, is up and running.
        fcntl.ioctl(any_socket, 0x8914, struct.pack("16sh14x", b"lo", 0x1 | 0x40))
    assert [name for _, name in socket.if_nameindex()] == ["lo"], "expected no interface but the loopback"
    may_change_user = Path("/proc/self/uid_map").read_text().split()[2] == "4294967295"
    if not may_change_user:
        print("!! NOT TRIED: the user of the image (this user may make no other)")
    os.chmod(work, 0o755)
    for check in (check_dockerfile, check_unit, check_kubernetes):
        check(work, binary, repository, may_change_user)


def check_image(binary, repository, program):
    def run(*arguments):
        command = [program, *map(str, arguments)]
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()

    name = "toolroute-test"
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as at_the_end:
        shutil.copy(binary, f"{folder}/toolroute")
        for licence in ("LICENSE-APACHE", "LICENSE-MIT"):
            shutil.copy(repository / licence, folder)
        # Images in podman's own format have no health check.
        form = ["--format", "docker"] if program.endswith("podman") else []
        run("build", *form, "--quiet", "--tag", name, "--build-arg", "BINARY=given",
            "--file", repository / "Dockerfile", folder)
        at_the_end.callback(run, "image", "rm", "--force", name)
        started = run("run", "--detach", "--read-only", "--network", "none", "--cap-drop", "ALL",
                      "--security-opt", "no-new-privileges", "--volume", f"{repository}/examples/catalog:/catalog:ro",
                      "--env", f"TOOLROUTE_TOKEN={TOKEN}", name)
        at_the_end.callback(run, "rm", "--force", "--volumes", started)
        probe = [program, "exec", started, *health_check(last_stage((repository / "Dockerfile").read_text()))]
        wait_until("the health check passes", lambda: subprocess.run(probe, stderr=subprocess.DEVNULL).returncode == 0)
        body = json.dumps({"prompt": PROMPT, "limit": 1})
        head = ["POST /v1/select HTTP/1.0", "Host: localhost", f"Authorization: Bearer {TOKEN}",
                "Content-Type: application/json", f"Content-Length: {len(body)}", "", body]
        connect = f'exec 3<>/dev/tcp/127.0.0.1/{PORT} && printf %s "$1" >&3 && cat <&3'
        answer = run("exec", started, "bash", "-c", connect, "-", "\r\n".join(head))
        assert '"release__rollback"' in answer, answer
        run("stop", "--time", 15, started)
        status = run("inspect", "--format", "{{.State.ExitCode}}", started)
        assert status == "0", f"SIGTERM: it ended with {status}"
    print(f"{program}: the image is built, `serve` is ready, routes a prompt, and ends by SIGTERM with 0")


def main():
    mode, binary, repository, beside = sys.argv[1:]
    {"root": check_root, "image": check_image}[mode](Path(binary), Path(repository), beside)


if __name__ == "__main__":
    main()
