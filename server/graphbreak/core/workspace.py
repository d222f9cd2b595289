"""Which files are the user's own."""

from __future__ import annotations

from dataclasses import dataclass

_LIBRARY_PARTS = frozenset({"site-packages", "dist-packages"})


@dataclass(frozen=True)
class Workspace:
    """The workspace folders, and the folders of libraries that may lie inside them. All paths absolute, with the platform's separator."""

    roots: tuple[str, ...]
    libraries: tuple[str, ...] = ()
    torch: str = ""

    def owns(self, path: str) -> bool:
        """Whether a file is the user's: below a root, and not in the standard library or an environment's packages."""
        if not any(_below(path, root) for root in self.roots):
            return False
        if _LIBRARY_PARTS & set(path.replace("\\", "/").split("/")):
            return False
        return not any(_below(path, library) for library in self.libraries)

    def in_torch(self, path: str) -> bool:
        """Whether a file is PyTorch's own."""
        return bool(self.torch) and _below(path, self.torch)


def _below(path: str, folder: str) -> bool:
    folder = folder.rstrip("/\\")
    return path.startswith(folder) and path[len(folder) : len(folder) + 1] in ("/", "\\")
