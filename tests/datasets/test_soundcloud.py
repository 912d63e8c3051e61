"""Plausibility of generated comments: popularity, rhythm, bursts, texts, addresses."""

from __future__ import annotations

import re

import numpy as np
import pytest
from pyspark.sql import functions as F

from datasets.expressions import ALIAS_BITS, alias_table
from datasets.generate import generate
from datasets.read import load
from datasets.soundcloud import generate as soundcloud

ROWS = 336_000  # two weeks
HOUR_MS = soundcloud.HOUR_MS

# Written independently, from the definition of an address and not from the generator or an
# operator.
MAIL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*@(?:[A-Za-z0-9-]+\.)+[A-Za-z]{2,}(?![A-Za-z0-9@])")
OCTET = r"(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
IP = re.compile(rf"(?<![0-9.]){OCTET}(?:\.{OCTET}){{3}}(?![0-9]|\.[0-9])")


@pytest.fixture(scope="module")
def comments(spark, tmp_path_factory):
    folder = tmp_path_factory.mktemp("soundcloud") / "set"
    generate("soundcloud", ROWS, 1, folder, "local[2]")
    return load(folder, text=True)


@pytest.fixture(scope="module")
def texts(comments):
    content = comments.text_bytes.tobytes()
    ends = comments.text_offsets.tolist()
    return [content[a:b].decode() for a, b in zip(ends, ends[1:], strict=False)]


def test_popularity_of_songs_follows_zipf_with_the_exponent(comments):
    counts = np.sort(np.bincount(comments.key))[::-1]
    # Beyond rank 500 a song has so few comments that sorting by count bends the line.
    rank = np.arange(1, 501)
    slope, _ = np.polyfit(np.log(rank), np.log(counts[:500]), 1)
    assert slope == pytest.approx(-soundcloud.ZIPF_EXPONENT, abs=0.03)
    expected = soundcloud.zipf_weights() / soundcloud.zipf_weights().sum()
    assert counts[0] / ROWS == pytest.approx(expected[0], rel=0.03)


def test_songs_are_numbered_from_1_and_popular_ones_lie_anywhere(comments):
    assert comments.keys[0] >= 1
    assert comments.keys[-1] <= soundcloud.SONGS
    popular = comments.keys[np.argsort(np.bincount(comments.key))[-200:]]
    assert 0.4 < np.mean(popular > soundcloud.SONGS / 2) < 0.6


def test_alias_table_gives_every_label_its_weight():
    weights = np.array([0.0, 5.0, 1.0, 1.0, 0.5, 2.5])
    threshold, alias = alias_table(weights)
    share = np.zeros(len(weights))
    for place in range(len(weights)):
        kept = threshold[place] / (1 << ALIAS_BITS)
        share[place] += kept / len(weights)
        share[alias[place]] += (1.0 - kept) / len(weights)
    assert share == pytest.approx(weights / weights.sum(), abs=1e-11)


def test_day_and_week_have_their_rhythm(comments):
    hours = (comments.time - soundcloud.FIRST_TIME_MS) // HOUR_MS
    of_day = np.bincount(hours % 24, minlength=24) / ROWS
    expected = np.array(soundcloud.HOURS) / sum(soundcloud.HOURS)
    # The tails of bursts are random, so the days of two weeks differ by chance.
    assert of_day == pytest.approx(expected, rel=0.25)
    assert np.corrcoef(of_day, expected)[0, 1] > 0.97
    of_week = np.bincount(hours // 24 % 7, minlength=7)
    assert of_week[4:].mean() > 1.1 * of_week[:4].mean()


def test_three_query_units_hold_ten_thousand_comments(comments):
    span = comments.time[-1] - comments.time[0]
    assert span == pytest.approx(2 * soundcloud.WEEK_MS, rel=0.01)
    assert 3 * comments.info["query_time_unit"] * ROWS / span == pytest.approx(10_000, rel=0.02)


def test_fewer_rows_are_a_shorter_time_at_the_same_density(spark):
    timed = soundcloud.timed(spark.range(ROWS // 4), 1, ROWS // 4)
    first, last = timed.agg(F.min("time"), F.max("time")).collect()[0]
    # Half a week from Monday on, and the week is busier towards the end.
    assert 3.5 < (last - first) / (24 * HOUR_MS) < 4.2


def test_popular_songs_have_bursts(comments):
    quarter_day = (comments.time - soundcloud.FIRST_TIME_MS) // (6 * HOUR_MS)
    everyone = np.bincount(quarter_day)
    highest = []
    for song in np.argsort(np.bincount(comments.key))[-30:]:
        share = np.bincount(quarter_day[comments.key == song], minlength=len(everyone)) / everyone
        highest.append(share.max() / np.median(share))
    # A song has one release in four weeks, so about half of them have one in these two.
    assert 8 <= sum(ratio > 2.5 for ratio in highest) <= 22, np.round(highest, 1)


def test_shares_of_texts_with_mail_and_ip_addresses(texts):
    assert np.mean([bool(MAIL.search(text)) for text in texts]) == pytest.approx(
        soundcloud.MAIL_SHARE, rel=0.06
    )
    assert np.mean([bool(IP.search(text)) for text in texts]) == pytest.approx(
        soundcloud.IP_SHARE, rel=0.08
    )


def test_lookalikes_occur_and_are_no_addresses(texts):
    assert not any(MAIL.search(text) or IP.search(text) for text in soundcloud.LOOKALIKES)
    assert not any(MAIL.search(text) or IP.search(text) for text in soundcloud.phrases())
    for lookalike in ("me@home", "256.300.1.1", "1.2.3.4.5", "bob@@mail.com"):
        assert any(lookalike in text for text in texts)


def test_texts_have_realistic_lengths_and_are_utf8(texts):
    lengths = np.array([len(text) for text in texts])
    assert 40 < np.median(lengths) < 60
    assert lengths.min() >= 3
    assert 250 < lengths.max() <= 600
    assert any(len(text.encode()) > len(text) for text in texts)
    assert len(set(soundcloud.phrases())) > 600
    assert len(soundcloud.phrases()) == 1024


def test_some_accounts_are_gone(spark, comments):
    users = spark.read.parquet(f"{comments.path}/comments-*").select("user")
    share = users.where("user is null").count() / ROWS
    assert share == pytest.approx(soundcloud.ANONYMOUS_SHARE, rel=0.1)
    assert users.distinct().count() > 50_000
