"""LaTeX with booktabs, as papers use it."""

from __future__ import annotations

import shutil
import subprocess

from tests.installing import found_or_installed, from_package_manager

__all__ = ["find_latex", "install_latex"]


def find_latex() -> str | None:
    """Return the path of a pdflatex that knows booktabs, or None."""
    compiler, finder = shutil.which("pdflatex"), shutil.which("kpsewhich")
    if compiler is None or finder is None:
        return None
    return compiler if subprocess.run([finder, "booktabs.sty"], capture_output=True).returncode == 0 else None


def install_latex() -> str | None:
    """Return such a LaTeX, installed by the system's package manager where there is none yet."""
    packages = from_package_manager(["texlive-latex-base", "texlive-latex-recommended"], ["basictex"])
    return found_or_installed(find_latex, packages)
