"""The page's mark-up without a browser: structure, escaping, nothing from outside, and the commands that write it.

One page is what fixtures/page.html shows; ``python -m tests.report.test_page_html`` writes it anew.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from medsenteval.cli.main import main
from medsenteval.errors import SettingsError
from medsenteval.report.loading import load_failures, ready_folder
from medsenteval.report.page_content import Page, PageOptions
from medsenteval.report.page_html import embedded_json, render_page
from medsenteval.running.result_schema import Failure
from medsenteval.running.result_store import ResultStore
from tests.comparison.results_of import word_result
from tests.comparison.simulated import accuracy_result
from tests.report.made_up import HOSTILE, analogy_result, hostile_results, many_results

PAGE = Path(__file__).parent / "fixtures" / "page.html"
QUICK = PageOptions(resamples=300)
_VOID = {"meta", "input", "br", "link", "img"}


class Outline(HTMLParser):
    """Collects elements, ids and text, and complains where an element is closed that is not open."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> where nothing is open"
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.fixture(scope="module")
def html() -> str:
    results = [*many_results(3, 12, n_items=80), analogy_result("encoder-00-of-some-family", {"treats": 0.5})]
    # A second seed is worth a note.
    results.append(accuracy_result("MedNLI", "encoder-00-of-some-family", [0, 1], [0, 1], seed=2))
    return render_page(Page(results, options=QUICK))


@pytest.fixture(scope="module")
def outline(html: str) -> Outline:
    return Outline(html)


def one_of_everything() -> str:
    """Return a page with every section, without its style and script, which no result changes, and what is in its figures."""
    names = {f"encoder-0{number}-of-some-family": number for number in range(3)}
    results = [result for result in many_results(3, 23, n_items=60) if result.task in ("MedNLI", "RQE", "BIOSSES", "SNLI")]
    results += [analogy_result(name, {"treats": 0.5 - i / 10, "has part": 0.2 + i / 7}) for name, i in names.items() if i < 2]
    for name, i in names.items():
        rows = [(f"{row}", f"w{row}", f"v{row}", float(row), float(row * row * (i + 2) % 23)) for row in range(24)]
        results.append(word_result("MayoSRS", name, rows, identity=f"{name}-1"))
    results = [replace(result, dimension=64 * (1 + names[result.encoder])) for result in results]
    failures = [Failure("MR", "encoder-01-of-some-family", "MR@1|nested-10|exact", "out of memory", "MemoryError")]
    values = {f"{side}{row}": float(row * row) for row in range(24) for side in "wv"}
    html = render_page(Page(results, failures, QUICK, word_values=values, subsets_by="frequency"))
    html = re.sub(r"<(style|script)\b.*?</\1>", r"", html, flags=re.DOTALL)
    html = re.sub(
        r"<meta (http-equiv|name=\"generator\").*\n",
        "",
        re.sub(r"(<svg (?!class=\"line\")[^>]*>).*?</svg>", r"\1</svg>", html, flags=re.DOTALL),
    )
    return re.sub(r"\n\s*\n+", "\n", html)


def test_a_page_is_written_as_its_file_shows() -> None:
    assert one_of_everything() == PAGE.read_text("utf-8")


def test_elements_are_balanced_and_ids_unique(outline: Outline) -> None:
    ids = [attributes["id"] for _, attributes in outline.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    links = [attributes["href"] for attributes in outline.all("a")]
    assert links
    assert all(link is not None and link[0] == "#" and link[1:] in ids for link in links)


def test_nothing_comes_from_outside(html: str, outline: Outline) -> None:
    assert {name for name, _ in outline.elements}.isdisjoint({"img", "link", "iframe", "object", "embed", "base", "form"})
    assert not [a for _, a in outline.elements if {"src", "style", "srcset"} & a.keys() or any(k.startswith("on") for k in a)]
    ours = "".join(re.findall(r"<(?:style|script)>(.*?)</(?:style|script)>", html, re.DOTALL))
    assert len(ours) > 10_000
    assert not re.search(r"url\(|@import|https?:|eval\(|innerHTML|fetch\(", ours)


def test_policy_names_the_hashes_of_style_and_script(html: str, outline: Outline) -> None:
    policy = next(str(meta["content"]) for meta in outline.all("meta") if meta.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    for pattern in (r"<style>(.*?)</style>", r"<script>(.*?)</script>"):
        content = re.search(pattern, html, re.DOTALL)
        assert content is not None
        digest = base64.b64encode(hashlib.sha256(content[1].encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy


def test_tables_can_be_heard(outline: Outline) -> None:
    assert all("scope" in attributes for attributes in outline.all("th"))
    assert all(attributes.get("aria-label") and attributes.get("tabindex") == "0" for attributes in outline.all("div")
               if attributes.get("role") == "region")  # fmt: skip
    # A line of the rank plot says nothing that its row does not say in numbers.
    charts = [attributes for attributes in outline.all("svg") if attributes.get("aria-hidden") != "true"]
    assert charts
    assert all("aria-labelledby" in attributes and attributes["role"] == "img" for attributes in charts)
    sortable = [attributes for attributes in outline.all("th") if "aria-sort" in attributes]
    assert len(sortable) == len([b for b in outline.all("button") if b.get("class") == "sort"]) == 2 + 15
    assert all(attributes.get("type") == "button" for attributes in outline.all("button"))
    assert next(attributes for attributes in outline.all("html"))["lang"] == "en"


def test_sections_without_results_are_absent() -> None:
    gold = [0, 1] * 10
    page = Page([accuracy_result("Mine", "one", gold, gold)], options=QUICK)
    ids = {attributes.get("id") for attributes in Outline(render_page(page)).all("section")}
    assert ids == {"scores", "tasks", "cost"}
    two = Page([accuracy_result(t, e, gold, gold) for t in ("Mine", "Own") for e in "ab"], options=QUICK)
    assert "Wilcoxon’s p = 1.0000" in render_page(two)


def test_every_section_is_there(outline: Outline) -> None:
    ids = [attributes.get("id") for attributes in outline.all("section")]
    assert ids == ["scores", "tasks", "gap", "analogies", "cost", "missing", "notes"]


def test_relations_that_differ_in_case_alone_have_a_row_each() -> None:
    results = [analogy_result("one", {"Treats": 0.5, "treats": 0.25}), analogy_result("two", {"TREATS": 0.125})]
    html = render_page(Page(results, options=QUICK))
    table = html[html.index("acc of BMASS by relation") :].partition("</table>")[0]
    rows = re.findall(r'<th scope="row"><bdi>(.*?)</bdi></th><td class="num">(.*?)</td><td class="num">(.*?)</td>', table)
    assert rows == [("Treats", "0.500", "–"), ("treats", "0.250", "–"), ("TREATS", "–", "0.125")]


def test_hostile_names_stay_text() -> None:
    page = Page(hostile_results(), options=PageOptions(resamples=300, title=HOSTILE, include_restricted=True))
    html = render_page(page)
    html.encode("utf-8")
    outline = Outline(html)
    assert len(outline.all("script")) == 2
    assert not outline.all("img")
    shown = HOSTILE.replace("\ud800", "\ufffd")
    assert outline.texts.count(shown) > 10
    assert any(attributes.get("data-value") == shown for attributes in outline.all("th"))
    payload = re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.DOTALL)
    assert payload is not None
    assert shown in json.loads(payload[1])["confusion"]["task-0"]["matrices"]


def test_json_ends_no_script() -> None:
    text = embedded_json({"</script><!--": "\u2028\u2029&>"})
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text) == {"</script><!--": "\u2028\u2029&>"}


def test_synthetic_data_is_said_to_be_synthetic() -> None:
    real = Page([accuracy_result("RQE", "one", [0, 1], [0, 1])], options=QUICK)
    made = Page([accuracy_result("RQE", "one", [0, 1], [0, 1], synthetic=True)], options=QUICK)
    assert "Synthetic sample data." not in render_page(real)
    assert "Synthetic sample data." in render_page(made)
    assert '<span class="synthetic">synthetic</span>' in render_page(made)


def test_differences_of_two_encoders_fill_their_axis() -> None:
    """Of points and of correlations on one axis from 0 to 100 with nothing at 50, the widest interval reaches an end."""
    results = [result for result in many_results(2, 10, n_items=200) if result.task in ("RQE", "BIOSSES")]
    page = Page(results, options=QUICK)
    html = render_page(page)
    drawn = re.findall(r'<path class="zero" d="M50 0V10"/><path class="range" d="M([-\d.]+) 5H([-\d.]+)"/>', html)
    ends = [(each.interval.low, each.interval.high) for each in page.headline.pair]
    shares = [(low / 100, high / 100) if each.unit == "percent" else (low, high)
              for each, (low, high) in zip(page.headline.pair, ends, strict=True)]  # fmt: skip
    reach = max(abs(end) for both in shares for end in both)
    expected = [50 + 50 * end / reach for both in shares for end in both]
    assert len(shares) == 2
    assert [float(end) for both in drawn for end in both] == pytest.approx(expected, abs=0.006)


@pytest.mark.parametrize(("n_encoders", "level", "said"), [(2, 0.05, "95 %"), (2, 0.01, "99 %"), (3, 0.01, "95 %")])
def test_intervals_of_differences_are_called_what_they_are(n_encoders: int, level: float, said: str) -> None:
    """Those of differences go with the level of the tests, those of ranks do not."""
    page = Page(many_results(n_encoders, 10, n_items=60), options=PageOptions(resamples=300, level=level))
    html = render_page(page)
    assert f"In brackets: {said} interval over items." in html
    assert f'"confidence":"{100 * (1 - level):g} %"' in html
    assert {found.interval.confidence for found in page.decisions} == {1 - level}


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    store = ResultStore(tmp_path / "results")
    for result in many_results(3, 4, n_items=40):
        store.save(result)
    store.save(Failure("BioC", "encoder-00-of-some-family", "s", "no vector for anything", "DataError"))
    return store.folder


def invoke(*arguments: Any) -> Any:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def test_report_command(stored: Path, tmp_path: Path) -> None:
    target = tmp_path / "new" / "report.html"
    done = invoke("report", stored, "-o", target, "--resamples", 300, "--title", "Ours & theirs")
    assert done.exit_code == 0, done.output
    assert "3 encoder(s), 4 task(s)" in done.output
    html = target.read_text("utf-8")
    assert "Ours &amp; theirs" in html
    assert "failed: no vector for anything" in html
    again = tmp_path / "again.html"
    assert invoke("report", stored, "-o", again, "--resamples", 300, "--title", "Ours & theirs").exit_code == 0
    assert again.read_bytes() == target.read_bytes()


def test_failed_jobs_are_those_of_what_is_named(stored: Path, tmp_path: Path) -> None:
    other = ResultStore(tmp_path / "other")
    elsewhere = Failure("RQE", "somebody", "s", "too large", "MemoryError")
    other.save(elsewhere)
    (ours,) = ResultStore(stored).failures()
    folders = [str(stored), str(other.folder)]
    assert load_failures([], stored) == load_failures([], stored, [accuracy_result("RQE", "x", [0], [0])]) == [ours]
    assert sorted(load_failures(folders, stored), key=lambda each: each.encoder) == [ours, elsewhere]
    assert load_failures([ours.encoder.upper()], stored) == load_failures([ours.encoder, str(stored)], stored) == [ours]
    assert load_failures(["somebody"], stored) == []
    assert load_failures(["somebody", str(stored)], other.folder) == [ours, elsewhere]
    bundle = tmp_path / "some.results.zip"
    bundle.write_bytes(b"")
    assert load_failures([str(bundle)], stored) == []


def test_report_of_named_encoders_and_tasks(stored: Path, tmp_path: Path) -> None:
    target = tmp_path / "report.html"
    done = invoke("report", "encoder-00-of-some-family", "-r", stored, "-o", target, "-t", "RQE,BioC", "--resamples", 300)
    assert done.exit_code == 0, done.output
    assert "1 encoder(s), 1 task(s)" in done.output
    assert "no vector for anything" in target.read_text("utf-8")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(["-t", "BIOSSES"], "no result of the tasks"), (["--subsets-by", "absent.csv"], "absent.csv: cannot be read")],
)
def test_report_refuses(stored: Path, tmp_path: Path, arguments: list[str], said: str) -> None:
    done = invoke("report", stored, "-o", tmp_path / "report.html", *arguments)
    assert done.exit_code == 2
    assert said in done.output
    assert not (tmp_path / "report.html").exists()


@pytest.mark.parametrize("command", ["report", "figures"])
def test_a_place_that_cannot_be_written_is_refused_before_any_work(
    command: str, stored: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr("medsenteval.report.loading.page_of", lambda *_: pytest.fail("work was begun"))
    done = invoke(command, stored, "-o", tmp_path / "file" / "x" / "report.html")
    assert done.exit_code == 2
    assert "cannot be made" in done.output


def test_a_folder_without_the_right_to_write_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Root may write everywhere, so that the system's answer is made up.
    monkeypatch.setattr("os.access", lambda *_: False)
    with pytest.raises(SettingsError, match="cannot be written to; name another place with --output"):
        ready_folder(tmp_path / "new")


def test_figures_command(stored: Path, tmp_path: Path) -> None:
    done = invoke("figures", stored, "-o", tmp_path / "new" / "figures", "--format", "svg, PNG")
    assert done.exit_code == 0, done.output
    assert "12 file(s)" in done.output
    assert sorted(path.name for path in (tmp_path / "new" / "figures").glob("*.png"))[0] == "critical-difference.png"
    refused = invoke("figures", stored, "-o", tmp_path / "new" / "figures", "--format", "gif")
    assert refused.exit_code == 2
    assert "svg, png, pdf; got gif" in refused.output


if __name__ == "__main__":
    PAGE.write_text(one_of_everything(), "utf-8")
