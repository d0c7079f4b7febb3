"""Draw the README's pictures from the record that ships with the toolkit, into docs/images.

    python -m docs.pictures

page.png is the first screen of ``medsenteval report`` in Chromium, table.png what LaTeX makes of ``compare --format latex``:
playwright with Chromium, pdflatex with booktabs, and pdftoppm are needed.
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from PIL import Image, ImageChops

from medsenteval.comparison.compare import compare_results
from medsenteval.report.comparison_table import TableOptions, render_comparison
from medsenteval.report.page_content import Page
from medsenteval.report.page_html import render_page
from medsenteval.running.record import reference_results
from tests.report.browser import launched, opened

FOLDER = Path(__file__).parent / "images"
#: What the pictures show: sentences, and words with many pairs.
TASKS = ("BIOSSES", "Bio-SimLex", "Bio-SimVerb", "UMNSRS-sim", "UMNSRS-rel", "MayoSRS", "EHR-RelA", "EHR-RelB")
SCREEN = {"width": 1200, "height": 700}


def main() -> None:
    results = [result for result in reference_results() if result.task in TASKS]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "report.html").write_text(render_page(Page(results)), "utf-8")
        with launched() as browser, opened(browser, folder / "report.html", viewport=SCREEN) as page:
            page.screenshot(path=folder / "page.png")
        options = TableOptions(metrics=("spearman",), digits=2)
        table = render_comparison(compare_results(results, all_metrics=True), "latex", options)
        (folder / "table.tex").write_text(
            "\\documentclass{article}\\usepackage[margin=1cm,landscape]{geometry}\\usepackage{booktabs}\\pagestyle{empty}\n"
            f"\\begin{{document}}\\noindent\n{table}\n\\end{{document}}\n",
            "utf-8",
        )
        for command in (
            ["pdflatex", "-halt-on-error", "table.tex"],
            ["pdftoppm", "-r", "130", "-png", "-singlefile", "table.pdf", "table"],
        ):
            subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        _keep(folder / "page.png", edge=0)
        _keep(folder / "table.png", edge=16)


def _keep(drawn: Path, edge: int) -> None:
    """Store a picture without its white margins, but for an edge of so many pixels, in few colours."""
    picture = Image.open(drawn).convert("RGB")
    if edge:
        inked = ImageChops.difference(picture, Image.new("RGB", picture.size, "white")).getbbox()
        assert inked is not None
        left, top, right, bottom = inked
        picture = picture.crop((left - edge, top - edge, right + edge, bottom + edge))
    path = FOLDER / drawn.name
    picture.quantize(48).save(path, optimize=True)
    print(f"{path.name}: {picture.width} x {picture.height}, {path.stat().st_size / 1000:.0f} KB")


if __name__ == "__main__":
    main()
