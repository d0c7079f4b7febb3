"""Ratings of word pairs: read strictly, agreement as written out, and SimVerb's own scores from its annotators' ratings."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import stats

from medsenteval.cli.main import main
from medsenteval.errors import DataError, SettingsError
from medsenteval.statistics import agreement_with_others, pairwise_agreement
from medsenteval.words import ratings as ratings_module
from medsenteval.words.ratings import Ratings, outliers, read_ratings

HEADED = "word1\tword2\tada\tbea\tcy\tdee\tnote\n"
ROWS = "".join(
    f"w{i}\tv{i}\t{i % 7}\t{min(6, i % 7 + i % 2)}\t{max(0, i % 7 - i % 3)}\t{(5 * i + 3) % 7}\tx\n" for i in range(24)
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "ratings.tsv"
    path.write_text(HEADED + ROWS, "utf-8")
    return path


def run(*arguments: str, code: int = 0) -> str:
    result = CliRunner().invoke(main, ["ratings", *arguments])
    assert result.exit_code == code, result.output
    return result.output


def test_agreement_is_that_of_scipy(file: Path) -> None:
    found = read_ratings(file, raters=["ada", "bea", "cy", "dee"])
    assert found.raters == ("ada", "bea", "cy", "dee")
    values = found.values
    pairs = {(i, j): stats.spearmanr(values[i], values[j])[0] for i in range(4) for j in range(4) if i != j}
    assert pairwise_agreement(found.values) == pytest.approx(np.mean(list(pairs.values())))
    others = [stats.spearmanr(values[i], np.delete(values, i, 0).mean(axis=0))[0] for i in range(4)]
    assert agreement_with_others(found.values) == pytest.approx(np.mean(others))
    mean = np.mean([pairs[3, j] for j in range(3)])
    assert outliers(found) == pytest.approx({"dee": mean})
    agreeing = found.without(["dee"])
    shown = run(str(file), "--raters", "ada,bea,cy,dee")
    assert f"24 pairs, 4 annotators, 4 to 4 a pair\nOutlier: dee, mean correlation with the others {mean:.3f}\n" in shown
    assert f"IAA-1 (two annotators)               {np.mean(list(pairs.values())):.3f}\n" in shown
    assert f"IAA-2 (one and the mean of the rest) {np.mean(others):.3f}\n" in shown
    assert pairwise_agreement(agreeing.values) > pairwise_agreement(found.values)
    dropped = run(str(file), "--raters", "ada,bea,cy,dee", "--drop-outliers")
    assert "Without it: 24 pairs, 3 annotators\n" in dropped
    assert f"IAA-1 (two annotators)               {pairwise_agreement(agreeing.values):.3f}\n" in dropped
    assert f"IAA-2 (one and the mean of the rest) {agreement_with_others(agreeing.values):.3f}\n" in dropped
    assert "No annotator agrees with the others by 99 standard deviations less" in run(
        str(file), "--raters", "ada,bea,cy,dee", "--outliers", "99", "--drop-outliers"
    )


def test_groups_that_share_few_pairs_stay_apart(tmp_path: Path) -> None:
    """Two groups with five pairs in common: each is measured by itself, as if it were the only one."""
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 7, 45)
    values = np.clip(truth + rng.integers(-2, 3, (6, 45)), 0, 6).astype(float)
    values[:3, 25:], values[3:, :20] = -1, -1
    path = tmp_path / "groups.csv"
    path.write_text("".join(f"a{i},b{i},{','.join(f'{v:g}' for v in values[:, i])}\n" for i in range(45)), "utf-8")
    whole = read_ratings(path)
    assert whole.counts.tolist() == [3.0] * 20 + [6.0] * 5 + [3.0] * 20
    for measure in (pairwise_agreement, agreement_with_others):
        first, second = (measure(whole.without(whole.raters[part]).values) for part in (slice(3, 6), slice(0, 3)))
        assert measure(whole.values, common=6) == pytest.approx((first + second) / 2)
        assert measure(whole.values, common=3) != pytest.approx((first + second) / 2)
    apart = run(str(path), "--common", "6")
    assert f"IAA-1 (two annotators)               {pairwise_agreement(whole.values, common=6):.3f}\n" in apart
    assert f"IAA-2 (one and the mean of the rest) {agreement_with_others(whole.values, common=6):.3f}\n" in apart


def test_scores_and_spread(file: Path, tmp_path: Path) -> None:
    found = read_ratings(file, raters=["ada", "bea", "cy", "dee"])
    assert found.scaled((0, 6), (0, 10)) == pytest.approx(found.values.mean(axis=0) * 10 / 6)
    assert found.deviations == pytest.approx(found.values.std(axis=0, ddof=1))
    table = tmp_path / "frequency.tsv"
    table.write_text("".join(f"w{i}\t{i}\nv{i}\t{i}\n" for i in range(24)), "utf-8")
    shown = run(
        str(file), "--raters", "ada,bea,cy,dee", "--by", str(table), "--limits", "7,15", "-o", str(tmp_path / "out.txt")
    )
    spread = found.values.std(axis=0, ddof=1)
    means = [spread[:8].mean(), spread[8:16].mean(), spread[16:].mean()]
    for mean in (*means, np.mean(means)):
        assert f"{mean:.4f}" in shown
    assert "Outlier: dee" in shown
    written = [line.split("\t") for line in (tmp_path / "out.txt").read_text("utf-8").splitlines()]
    assert [row[:2] for row in written] == [list(pair) for pair in found.pairs]
    assert [float(row[2]) for row in written] == pytest.approx(found.scaled((0, 6), (0, 10)))
    without = run(str(file), "--raters", "[abcd]*", "--drop-outliers")
    assert "Without it: 24 pairs, 3 annotators" in without


def test_what_is_no_rating_is_refused_with_its_line(file: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"ratings.tsv, line 2: 'x' in 'note' is no rating; --raters chooses"):
        read_ratings(file)
    with pytest.raises(SettingsError, match="has no column 'term'"):
        read_ratings(file, words=["term", "word2"])
    with pytest.raises(SettingsError, match=r"1 column\(s\) of ratings"):
        read_ratings(file, raters=["ada"])
    short = tmp_path / "short.csv"
    short.write_text("a,b,1,2\nc,d,1\n", "utf-8")
    with pytest.raises(DataError, match="line 2: 3 fields where the first row has 4"):
        read_ratings(short)
    with pytest.raises(DataError, match="rated w6 / v6 6, which is not on the scale from 0 to 5"):
        read_ratings(file, raters=["ada", "bea"]).scaled((0, 5), (0, 10))
    assert "expected four numbers" in run(str(file), "--raters", "ada,bea", "--scale", "0,6", code=2)


@pytest.mark.realdata
def test_simverbs_scores_follow_from_its_annotators_ratings(realdata: Path, tmp_path: Path) -> None:
    """SimVerb multiplied means by 1.66, not by 10 / 6. Of 100 pairs it scored other ratings than the file has."""
    folder = realdata / "wordsim" / "bio-simverb-repo" / "simVerb-3500"
    with zipfile.ZipFile(folder / "simverb-3500-data.zip") as archive:
        (tmp_path / "r.csv").write_bytes(archive.read("data/SimVerb-3520-annotator-ratings.csv"))
    found = read_ratings(tmp_path / "r.csv")
    assert (len(found.pairs), len(found.raters)) == (3520, 702)
    ours = dict(zip(found.pairs, found.scaled((0, 6), (0, 9.96)), strict=True))
    printed = {}
    for line in (folder / "data" / "SimVerb-3500.txt").read_text("utf-8").splitlines():
        first, second, _, score, _ = line.split("\t")
        printed[first, second] = float(score)
    assert sum(abs(ours[pair] - score) < 0.00501 for pair, score in printed.items()) >= 3399


def test_columns_are_found_by_their_names_and_by_their_places(tmp_path: Path) -> None:
    path = tmp_path / "r.tsv"
    path.write_text('ann\tx\ty\tbob\n1\tsun\tmoon\t2\n\nNA\tsea\tsalt\t-1\n5\t"a\tb\t\n', "utf-8")
    found = read_ratings(path, words=["x", "y"])
    assert (found.raters, found.pairs) == (("ann", "bob"), (("sun", "moon"), ('"a', "b")))
    np.testing.assert_array_equal(found.values, [[1, 5], [2, np.nan]])
    assert found.counts.tolist() == [2, 1]
    assert found.means.tolist() == [1.5, 5]
    np.testing.assert_allclose(found.deviations, [np.sqrt(0.5), np.nan])
    assert found.scaled((1, 5), (0, 100)).tolist() == [12.5, 100]
    for scales in (((1, 1), (0, 1)), ((1, 5), (1, 1)), ((5, 1), (0, 1))):
        with pytest.raises(SettingsError, match="scales must rise"):
            found.scaled(*scales)
    with pytest.raises(DataError, match="ann rated sun / moon 1, which is not on the scale from 2 to 5"):
        found.scaled((2, 5), (0, 1))
    with pytest.raises(SettingsError, match=r"--words names 1 column\(s\); two are needed"):
        read_ratings(path, words=["x"])
    path.write_text("sun,moon,1,2,nan\nsea,salt,3,4,NA\n", "utf-8")
    plain = read_ratings(path)
    assert (plain.raters, plain.values.tolist()) == (("column 3", "column 4"), [[1, 3], [2, 4]])
    path.write_text("sun,moon,1,2,3\nsea,salt,-,-1.0,\n\nsky,blue,NaN,4,na\n", "utf-8")
    np.testing.assert_array_equal(read_ratings(path).values, [[1, np.nan], [2, 4], [3, np.nan]])
    path.write_text("sun,moon,1,2\n\nsea,salt,inf,4\n", "utf-8")
    with pytest.raises(DataError, match=r"line 3: 'inf' in 'column 3' is no rating"):
        read_ratings(path)
    path.write_text("sun,moon,1,2\nsea,salt,1_0,4\n", "utf-8")
    with pytest.raises(DataError, match=r"line 2: '1_0' in 'column 3' is no rating"):
        read_ratings(path)
    path.write_text("", "utf-8")
    with pytest.raises(DataError, match="expected two words and the ratings of at least two annotators"):
        read_ratings(path)
    path.write_text("sun,moon,1\n", "utf-8")
    with pytest.raises(DataError, match="expected two words and the ratings of at least two annotators"):
        read_ratings(path)


def test_an_outlier_is_two_deviations_below_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    def named(*values: float, deviations: float = 2.0) -> list[str]:
        def agreeing(ratings: np.ndarray, *, common: int) -> np.ndarray:
            return np.array(values) + (common - 3) * np.arange(len(values))  # three pairs in common are the default

        monkeypatch.setattr(ratings_module, "rater_agreement", agreeing)
        raters = tuple("abcdef"[: len(values)])
        return list(outliers(Ratings((), raters, np.zeros((len(values), 0))), deviations=deviations))

    # The others' mean is 0.7, their deviation 0.1.
    assert named(0.6, 0.7, 0.8, 0.501, float("nan")) == []
    assert named(0.6, 0.7, 0.8, 0.499) == ["d"]
    assert list(outliers(Ratings((), tuple("abcd"), np.zeros((4, 0))))) == ["d"], "two deviations are the default"
    assert named(0.6, 0.7, 0.8, 0.599, deviations=1.0) == ["d"]
    assert named(0.1, 0.9) == []
    assert named(0.0, 1.0, 2.0, 3.0) == [], "exactly two deviations below is not more than two"
