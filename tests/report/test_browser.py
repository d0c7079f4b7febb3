"""The report page in a real browser: it loads nothing, complains of nothing, and works by click and by keyboard."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from medsenteval.cli.main import main
from medsenteval.datasets.locate import sample_root
from medsenteval.report.page_content import Page, PageOptions
from medsenteval.report.page_html import render_page
from medsenteval.running.result_schema import Failure
from tests.report.browser import find_axe, find_chromium, launched, opened
from tests.report.made_up import HOSTILE, analogy_result, hostile_results, many_results

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module", autouse=True)
def _chromium() -> None:
    # Looked for when the first test runs: asking playwright takes a second, in every process that collects this file.
    if find_chromium() is None:
        pytest.skip("needs playwright (PyPI) and chromium (apt-get install chromium)")


def write_page(folder: Path, results: Any, **options: Any) -> Path:
    failures = [Failure("CR", "encoder-01-of-some-family", "s", "out of memory", "MemoryError")]
    path = folder / "report.html"
    path.write_text(render_page(Page(results, failures, PageOptions(resamples=300, **options))), "utf-8")
    return path


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    results = many_results(4, 12, n_items=120)
    results += [analogy_result(f"encoder-0{i}-of-some-family", {"treats": 0.2 * i, "causes": 0.5}) for i in range(2)]
    return write_page(tmp_path_factory.mktemp("report"), results)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with launched() as found:
        yield found


@pytest.fixture(scope="module")
def page(browser: Any, path: Path) -> Iterator[Any]:
    with opened(
        browser, path, viewport={"width": 1280, "height": 900}, permissions=["clipboard-read", "clipboard-write"]
    ) as found:
        yield found


def encoders(page: Any) -> list[str]:
    found: list[str] = page.eval_on_selector_all("#table tbody tr:not([hidden]) th .name", "all => all.map(e => e.textContent)")
    return found


def column(page: Any, index: int) -> list[float]:
    cells = f"#table tbody tr td:nth-child({index})"
    found: list[float] = page.eval_on_selector_all(cells, "all => all.map(e => Number(e.dataset.value))")
    return found


def wait_until(page: Any, condition: str) -> None:
    """Wait for something that the page does a moment later; playwright's own waiting needs eval, which the policy forbids."""
    for _ in range(100):
        if page.evaluate(condition):
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"never came true: {condition}")


def test_nothing_is_loaded_and_nothing_complains(page: Any, path: Path) -> None:
    assert page.requests == [path.as_uri()]
    assert page.complaints == []


def test_nothing_may_be_loaded(page: Any) -> None:
    """The policy holds: an image, a script and a request from within the page are refused by the browser."""
    refused = page.evaluate(
        """async () => {
          const seen = [];
          document.addEventListener("securitypolicyviolation", (event) => seen.push(event.effectiveDirective));
          const image = new Image(); image.src = "https://example.invalid/x.png";
          const script = document.createElement("script");
          script.textContent = "window.hacked = 1";
          document.body.append(script);
          await fetch("https://example.invalid/").catch(() => 0);
          await new Promise((done) => setTimeout(done, 50));
          script.remove();
          return [seen.sort(), window.hacked === undefined];
        }"""
    )
    assert refused == [["connect-src", "img-src", "script-src-elem"], True]
    page.complaints.clear()
    page.requests[1:] = []


def test_sorting_by_click_and_by_key(page: Any) -> None:
    as_given = encoders(page)
    button = page.get_by_role("columnheader", name="RQE").get_by_role("button")
    header = page.get_by_role("columnheader", name="RQE")
    button.click()
    assert header.get_attribute("aria-sort") == "descending"
    assert column(page, 4) == sorted(column(page, 4), reverse=True)
    assert "sorted by RQE acc, descending" in page.inner_text("#status")
    button.focus()
    page.keyboard.press("Enter")
    assert header.get_attribute("aria-sort") == "ascending"
    assert column(page, 4) == sorted(column(page, 4))
    page.keyboard.press("Space")
    assert header.get_attribute("aria-sort") == "none"
    assert encoders(page) == as_given
    name = page.locator("#table thead").get_by_role("columnheader", name="Encoder").get_by_role("button")
    name.click()
    name.click()
    assert encoders(page) == sorted(as_given, reverse=True)
    name.click()


def test_encoders_without_a_score_stand_last(page: Any) -> None:
    header = page.get_by_role("columnheader", name="BMASS")
    for _ in range(2):
        header.get_by_role("button").click()
        assert all("no score" in row for row in page.locator("#table tbody tr").all_inner_texts()[2:])
    header.get_by_role("button").click()


def test_filters(page: Any) -> None:
    page.fill("#filter", "-02-")
    assert encoders(page) == ["encoder-02-of-some-family"]
    assert page.inner_text("#status").startswith("1 of 4 encoders")
    page.fill("#filter", "")
    assert len(encoders(page)) == 4
    shown = page.locator("#table thead th:visible").count()
    page.get_by_role("checkbox", name="general").uncheck()
    fewer = page.locator("#table thead th:visible").count()
    assert fewer == shown - 2
    assert page.get_by_role("columnheader", name="CR").count() == 0
    page.get_by_role("checkbox", name="general").press("Space")
    assert page.locator("#table thead th:visible").count() == shown
    assert page.locator("#table .i:visible").count() == 0
    page.get_by_role("checkbox", name="intervals").check()
    assert page.locator("#table .i:visible").count() > 40
    page.get_by_role("checkbox", name="intervals").uncheck()


def test_the_first_screen_says_the_verdict_and_shows_the_ranks(browser: Any, path: Path) -> None:
    for size in ({"width": 1280, "height": 800}, {"width": 390, "height": 844}):
        with opened(browser, path, viewport=size) as page:
            said = page.locator(".verdict").inner_text()
            assert "encoder-00-of-some-family has the best mean rank, 1.0 [1.0, " in said
            for place in (".verdict", ".places tbody tr:last-child"):
                box = page.locator(place).bounding_box()
                assert box["y"] + box["height"] < size["height"]
            ranks = [float(text) for text in page.locator(".places tbody td:nth-child(3)").all_inner_texts()]
            assert ranks == sorted(ranks)


def test_any_encoder_can_be_the_reference(page: Any) -> None:
    before = page.locator("#table tbody").inner_text()
    page.get_by_label("Compare with").select_option("encoder-03-of-some-family")
    first = page.locator("#table tbody tr").first
    difference = first.locator("td").nth(1).locator(".v").inner_text()
    payload = json.loads(page.locator("#data").text_content())
    pair = next(pair for pair in payload["columns"][0]["pairs"] if pair[:2] == [0, 3])
    assert difference.split()[:2] == ["▲", f"+{pair[2]:.1f}"]
    view = page.locator("details.task").first
    view.locator("summary").click()
    rows = view.locator(".differences tbody tr")
    assert rows.count() == 3
    assert "better" in rows.first.inner_text()
    assert "differences to encoder-03" in page.inner_text("#status")
    view.locator("summary").click()
    page.get_by_label("Compare with").select_option("")
    assert page.locator("#table tbody").inner_text() == before


def test_the_table_is_taken_away(page: Any) -> None:
    page.get_by_label("Format of the table").select_option("latex")
    page.locator("#copy-table").click()
    wait_until(page, "document.getElementById('status').textContent.startsWith('table copied')")
    assert r"\begin{tabular}" in page.evaluate("navigator.clipboard.readText()")
    page.get_by_label("Format of the table").select_option("csv")
    with page.expect_download() as download:
        page.locator("#download").click()
    assert download.value.suggested_filename == "scores.csv"
    assert Path(download.value.path()).read_text("utf-8").startswith("task,metric,protocol,encoder")


def test_theme(page: Any) -> None:
    def paper() -> str:
        found: str = page.evaluate("getComputedStyle(document.body).backgroundColor")
        return found

    light = paper()
    page.get_by_role("button", name="Dark theme").click()
    assert paper() != light
    page.get_by_role("button", name="Light theme").press("Enter")
    assert paper() == light


def test_drill_down(page: Any) -> None:
    view = page.locator("details.task").first
    view.locator("summary").focus()
    page.keyboard.press("Enter")
    assert view.evaluate("e => e.open")
    matrix = view.locator(".matrix table")
    assert matrix.locator("tbody tr").count() == 3
    total = sum(int(text) for text in matrix.locator("tbody td[class*=ramp]").all_inner_texts())
    assert total == 120
    view.locator("select").select_option("encoder-03-of-some-family")
    assert "encoder-03" in matrix.locator("caption").inner_text()
    view.locator("summary").press("Space")
    assert not view.evaluate("e => e.open")


def test_a_link_in_the_table_opens_its_task(page: Any) -> None:
    page.get_by_role("link", name="Details of PICO, acc").press("Enter")
    wait_until(page, "document.activeElement.tagName === 'SUMMARY'")
    opened_views = page.locator("details.task[open] .task-name").all_inner_texts()
    assert opened_views == ["PICO"]
    page.get_by_role("button", name="Open all").click()
    assert page.locator("details.task[open]").count() == page.locator("details.task").count() == 13
    page.get_by_role("button", name="Open all").click()
    assert page.locator("details.task[open]").count() == 0


def test_a_signature_is_copied(page: Any) -> None:
    view = page.locator("details.task").nth(1)
    view.locator("summary").click()
    view.get_by_role("button", name="Copy").first.click()
    wait_until(page, "document.getElementById('status').textContent.startsWith('signature')")
    assert page.evaluate("navigator.clipboard.readText()") == view.locator("code").first.inner_text()
    assert page.evaluate("navigator.clipboard.readText()").startswith("RQE@1|")
    view.locator("summary").click()


def test_keyboard_reaches_the_skip_link_first(browser: Any, path: Path) -> None:
    with opened(browser, path) as page:
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == "Skip to the scores"
        assert page.locator(".skip").bounding_box()["x"] >= 0
        page.keyboard.press("Enter")
        assert page.evaluate("location.hash") == "#scores"


@pytest.mark.parametrize("width", [320, 390, 768])
def test_a_phone_shows_cards_and_the_page_never_scrolls_sideways(browser: Any, path: Path, width: int) -> None:
    with opened(browser, path, viewport={"width": width, "height": 844}) as page:
        page.get_by_role("button", name="Open all").click()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        first = page.locator("#table tbody th").first.bounding_box()
        assert 0 <= first["x"] < 130
        # Cards: every score stands below its label, and nothing scrolls sideways.
        assert page.locator("#table thead").is_visible() == (width > 640)


def test_the_differences_of_two_encoders_fit_a_phone(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "two.html"
    path.write_text(render_page(Page(many_results(2, 10), options=PageOptions(resamples=200))), "utf-8")
    with opened(browser, path, viewport={"width": 390, "height": 844}) as page:
        assert page.locator(".pair tbody tr").count() == 10
        cells = page.eval_on_selector_all(
            ".pair tbody td, .pair tbody th",
            "all => all.map(e => [e.getBoundingClientRect().right, e.scrollWidth - e.clientWidth])",
        )
        assert all(right <= 390 and beyond <= 0 for right, beyond in cells)


def test_intervals_of_differences_go_with_the_level(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "strict.html"
    path.write_text(render_page(Page(many_results(2, 2, n_items=60), options=PageOptions(resamples=200, level=0.01))), "utf-8")
    with opened(browser, path) as page:
        page.locator("details.task summary").first.click()
        head = page.locator(".differences tr").first.locator("th").all_inner_texts()
        assert head == ["Encoder", "Metric", "Difference", "99 % interval", "p", "Verdict"]


def test_paper_is_white_and_holds_every_column(browser: Any, path: Path) -> None:
    with opened(browser, path, color_scheme="dark") as page:
        page.get_by_role("button", name="Light theme").click()
        page.get_by_role("button", name="Dark theme").click()
        page.emulate_media(media="print", color_scheme="dark")
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        printed = page.locator(".printed thead th.num:visible").count()
        assert printed == page.locator("#table thead th[data-group]").count()
        page.set_viewport_size({"width": 700, "height": 990})
        assert page.evaluate("document.documentElement.scrollWidth") <= 700
        assert not page.locator(".controls").is_visible()


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 1280), ("light", 390)])
def test_axe_finds_no_serious_violation(browser: Any, path: Path, scheme: str, width: int) -> None:
    with opened(browser, path, color_scheme=scheme, viewport={"width": width, "height": 900}) as page:
        page.get_by_role("button", name="Open all").click()
        page.evaluate(find_axe().read_text("utf-8"))
        found = page.evaluate("async () => (await axe.run()).violations")
    serious = [
        (each["id"], each["impact"], [node["html"][:160] for node in each["nodes"][:3]])
        for each in found
        if each["impact"] in ("serious", "critical")
    ]
    assert not serious, json.dumps(serious, indent=1)


def test_hostile_names_are_shown_as_text(browser: Any, tmp_path: Path) -> None:
    path = write_page(tmp_path, hostile_results(), title=HOSTILE, include_restricted=True)
    with opened(browser, path, viewport={"width": 390, "height": 844}) as page:
        page.get_by_role("button", name="Open all").click()
        assert page.complaints == []
        assert page.requests == [path.as_uri()]
        assert page.evaluate("window.hacked") is None
        assert page.locator("img").count() == 0
        assert page.locator("script").count() == 2
        shown = HOSTILE.replace("\ud800", "\ufffd")
        assert page.evaluate("document.querySelector('h1').textContent") == shown
        assert encoders(page)[0] == shown
        assert page.evaluate("document.querySelector('.matrix thead th bdi').textContent") == shown
        assert page.evaluate("document.querySelector('.id bdi').textContent").startswith(shown)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        page.fill("#filter", "<img src=x")
        assert len(encoders(page)) == 1


def test_hostile_sentences_are_shown_as_text(browser: Any, tmp_path: Path) -> None:
    """From the files of a data set through a run to the page: every test sentence tries to break out."""
    attack = "<script>window.hacked=1</script><img src=x onerror=window.hacked=1>\"'&\u202egnal\u2066"
    folder = tmp_path / "data" / "PICO"
    folder.mkdir(parents=True)
    for source in (sample_root() / "PICO").glob("*.txt"):
        lines = source.read_text("utf-8").splitlines()
        spoilt = [f"{line} {attack}" if line and not line.startswith("###") else line for line in lines]
        (folder / source.name).write_text("\n".join(spoilt) + "\n", "utf-8")
    places = ["-d", str(folder.parent)]
    path, results = tmp_path / "report.html", str(tmp_path / "results")
    encoders = ["-e", "lexical,dimension=16", "-e", "lexical,dimension=64"]
    run = ["run", "-t", "PICO", *encoders, "-o", results, "--limit", "80", "--quiet", "--no-cache", *places]
    for arguments in (run, ["report", results, "-o", str(path), "--examples", "4", "--resamples", "200", *places]):
        done = CliRunner().invoke(main, arguments)
        assert done.exit_code == 0, done.output
    with opened(browser, path) as page:
        page.get_by_role("button", name="Open all").click()
        shown = page.eval_on_selector_all(".text", "all => all.map(e => e.textContent)")
        assert len(shown) == 4
        assert all(attack in text for text in shown)
        assert page.evaluate("window.hacked") is None
        assert page.locator("img").count() == 0
        assert page.complaints == []
        assert page.requests == [path.as_uri()]
