"""DynamoDB Local: installed by Maven, and the command that starts it.

It listens on every address, so it is started in a network namespace with only a loopback device,
which `namespaces.py` makes. Needs Java 17 or newer (`JAVA` names another than the one on the path)
and, the first time, Maven.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

VERSION = "3.3.1"
NAME = f"DynamoDB Local {VERSION}"

_MAIN = "software.amazon.dynamodb.services.local.main.ServerRunner"
_MOST_SECONDS = 600


class LocalUnavailable(RuntimeError):
    """DynamoDB Local could not be installed or started."""


def find_java() -> str:
    """Return the path of Java; raises LocalUnavailable."""
    java = shutil.which(os.environ.get("JAVA", "java"))
    if java is None:
        raise LocalUnavailable(f"{NAME} needs Java, which is missing.")
    return java


def library() -> Path:
    """Return the folder with the jars, which are installed on the first call.

    Raises LocalUnavailable when Maven is missing or fails.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser()
    home = cache / "keyfold" / f"dynamodb-local-{VERSION}"
    if (home / f"DynamoDBLocal-{VERSION}.jar").exists():
        return home
    maven = shutil.which("mvn")
    if maven is None:
        raise LocalUnavailable(f"{NAME} is not installed and Maven, which fetches it, is missing.")
    home.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=home.parent) as build:
        pom = Path(build, "pom.xml")
        shutil.copy(Path(__file__).with_name("pom.xml"), pom)
        fetched = Path(build, "lib")
        command = [maven, "-q", "-B", "-f", str(pom), "dependency:copy-dependencies"]
        try:
            done = subprocess.run(
                [*command, f"-DoutputDirectory={fetched}"],
                capture_output=True,
                text=True,
                timeout=_MOST_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise LocalUnavailable(f"Maven takes too long to fetch {NAME}.") from None
        if done.returncode != 0 or not (fetched / f"DynamoDBLocal-{VERSION}.jar").exists():
            raise LocalUnavailable(f"Maven could not fetch {NAME}:\n{done.stdout}{done.stderr}")
        # The loader looks for the native library under a name without its version.
        for native in fetched.glob("libsqlite4java-*-1.0.*"):
            stem, _, extension = native.name.partition("-1.0.")
            shutil.copy(native, fetched / f"{stem}.{extension.rsplit('.', 1)[1]}")
        fetched.rename(home)
    return home


def make_command(jars: Path, port: str, *arguments: str, java: tuple[str, ...] = ()) -> list[str]:
    """Return the command that starts it on a port, with options for Java and further arguments."""
    return [
        *(find_java(), *java, f"-Djava.library.path={jars}", "-cp", f"{jars}/*", _MAIN),
        *("-disableTelemetry", "-port", port, *arguments),
    ]
