r"""`soundcloud`: comments on songs, in the manner of a music network.

Replaces the paper's collected set, of which 40,000 songs (Table 2) are known, and a time, a user, a
song and a text per comment (section 7.1). Each number below without a source is an assumption about
such data; none of them decides which variant wins.

The time of a comment. Activity varies over the week: people comment in the evening and at weekends.
So a moment is first drawn on an even clock, the *activity axis*, and then mapped to real time by
the weekly profile:

    activity   |----|----|--------|--------|----------|------|   an equal number of comments each
                 \     \       \       /       /          /
    real time  |--------|--------|----|----|----|-----------|   hours of the week, Monday first

On the activity axis most moments are uniform. The others follow a *release*: each song has one
every four weeks at an individual moment (an upload, a remix, an album), followed by comments with
density lag**(-2/3), a burst and a long tail. Both kinds are mapped in the same way, so bursts keep
the rhythm, and a smaller set is the beginning of a longer period at the same density.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from datasets.expressions import (
    Generator,
    TableRows,
    below,
    bits,
    draw,
    happens,
    hashed,
    numbers,
    pick,
    quotient,
    texts,
    uniform,
)
from datasets.read import splitmix64

SONGS = 40_000  # Table 2 of the paper
ZIPF_EXPONENT = 1.05  # ASSUME: the paper gives none; the native peers' data has this one.
USERS = 250_000  # ASSUME: the number is lost from the paper's text.
ANONYMOUS_SHARE = 0.013  # ASSUME: deleted accounts, as frequent as in recorded comment sets.

# ASSUME: the period is lost from the paper's text. 2012-01-02 00:00 UTC, a Monday.
FIRST_TIME_MS = 1_325_462_400_000
HOUR_MS = 3_600_000
WEEK_MS = 168 * HOUR_MS
# ASSUME: a thousand an hour in the mean, so that 10 million comments span 14 months, like the
# paper's other set.
ROWS_PER_WEEK = 168_000

# ASSUME: comments by hour of the day (UTC) and day of the week (Monday first), relative.
HOURS = (7, 5, 4, 3, 2, 2, 3, 4, 6, 8, 9, 10, 11, 11, 12, 12, 13, 14, 15, 16, 17, 16, 13, 10)
DAYS = (9, 9, 9, 10, 11, 12, 11)

# ASSUME: releases. The lag is period * u**3 for uniform u, so the density falls as lag**(-2/3); the
# time it takes to listen keeps the first comments from falling into one millisecond.
RELEASE_WEEKS = 4
BURST_SHARE = 0.35
LISTENING_HOURS = 0.1

# ASSUME: shares of comments with an address in them, and with something that only looks like one.
MAIL_SHARE = 0.02
IP_SHARE = 0.01
LOOKALIKE_SHARE = 0.03

# ASSUME: a comment has 1 to 12 phrases, each further one with this probability.
MOST_PHRASES = 12
FURTHER_PHRASE = 0.68

ADJECTIVES = (
    "sick dope smooth heavy lovely crazy deep fresh epic chill massive beautiful dark warm dirty"
    " amazing huge raw catchy dreamy groovy weird classic solid génial schön nice filthy lush"
    " tight soulful ♥"
).split()
NOUNS = (
    "track beat drop bassline melody vocal sample remix intro build-up mix groove sound synth"
    " hook kick loop tune voice set flow outro break riff rhythm vibe mastering arrangement"
    " guitar piano snare 音楽"
).split()
PATTERNS = (
    "love this {noun}",
    "that {noun} is {adjective}",
    "{adjective} {noun}!",
    "so {adjective}",
    "{adjective} {noun}, {adjective} all the way",
    "can't stop listening to this {noun}",
    "wow...",
    "the {noun} at {minute}:{second:02d} is {adjective}",
    "great {noun}",
    "pls make the {noun} louder :)",
    "what a {adjective} {noun} man",
)
NAMES = "anna bob.k carlos dj_dan emma.lee felix99 gina h.ito ivan+music jo-lynn k3vin lou".split()
HOSTS = "mail musicbox web-post example sub.domain uni studio4 label".split()
ENDINGS = "com net org de co.uk se info fm".split()
BEFORE_MAIL = ("mail me at", "contact:", "booking -", "send it to", "<", "write", "demo @", "")
BEFORE_IP = ("stream on", "server", "ip", "join us at", "(", "host =", "blocked from", "")
AFTER = ("", "", "", "!", ".", ",", ")", " thx")
LOOKALIKES = (
    "@dj_dan",  # a mention
    "anna@",
    "me@home",  # no ending
    "anna @ mail.com",
    "@ 1:32",
    "bob@@mail.com",
    "carlos@.com",
    "mail.com",
    "10.05.2012",  # a date
    "v2.0.1",
    "256.300.1.1",  # numbers above 255
    "192.168.1",
    "1.2.3.4.5",
    "192.168..1",
    "192,168,1,1",
    "4.5/5",
)


def weekly_profile() -> np.ndarray:
    """Return the relative number of comments in each hour of the week, Monday first.

    Returns
    -------
    ndarray of int64, (168,)
    """
    return np.outer(DAYS, HOURS).ravel().astype(np.int64)


ACTIVITY_PER_WEEK = int(weekly_profile().sum())


def zipf_weights() -> np.ndarray:
    """Return the relative popularity of the songs by rank.

    Returns
    -------
    ndarray of float64, (SONGS,)
    """
    return np.arange(1, SONGS + 1, dtype=np.float64) ** -ZIPF_EXPONENT


def songs(seed: int, row_id: Column) -> Column:
    """Draw the song of a comment, 1 to `SONGS`; popular songs have scattered numbers."""
    shuffled = np.argsort(splitmix64(seed, np.arange(SONGS)), kind="stable") + 1
    return draw(seed, "song", zipf_weights(), shuffled, row_id)


def timed(frame: DataFrame, seed: int, ids: int) -> DataFrame:
    """Give each comment a song (`key`) and a time, in ms since 1970."""
    row_id = F.col("id")
    end = ids / ROWS_PER_WEEK * ACTIVITY_PER_WEEK
    period = float(RELEASE_WEEKS * ACTIVITY_PER_WEEK)
    listening = LISTENING_HOURS * ACTIVITY_PER_WEEK / 168
    even, first, u, burst = (F.col(name) for name in ("even", "first", "u", "burst"))
    frame = frame.withColumns(
        {
            "key": songs(seed, row_id),
            "even": uniform(seed, "moment", row_id) * F.lit(end),
            "u": uniform(seed, "lag", row_id),
        }
    )
    frame = frame.withColumn("first", uniform(seed, "release", F.col("key")) * F.lit(period))
    # The release before the moment, or the first one.
    release = first + F.greatest(
        F.floor((even - first) / F.lit(period)) * F.lit(period), F.lit(0.0)
    )
    lag = u * u * u * F.lit(period) + uniform(seed, "listening", row_id) * F.lit(listening)
    frame = frame.withColumn("burst", release + lag)
    # If the burst would be after the last moment, the comment keeps the original one.
    inside = happens(seed, "burst", BURST_SHARE, row_id) & (burst < F.lit(end))
    frame = frame.withColumn("activity", F.when(inside, burst).otherwise(even))
    return with_real_time(frame).select("time", "id", "key")


def with_real_time(frame: DataFrame) -> DataFrame:
    """Add `time`, ms since 1970, from `activity` by the weekly profile."""
    profile = weekly_profile()
    activity, week, within, hour = (F.col(n) for n in ("activity", "week", "within", "hour"))
    frame = frame.withColumn("week", quotient(activity, ACTIVITY_PER_WEEK))
    frame = frame.withColumn("within", activity - week * F.lit(float(ACTIVITY_PER_WEEK)))
    hours = numbers(np.repeat(np.arange(168), profile))
    frame = frame.withColumn("hour", pick(hours, F.floor(within)))
    before = pick(numbers(np.cumsum(profile) - profile), hour)
    fraction = (within - before) / pick(numbers(profile), hour)
    return frame.withColumn(
        "time",
        F.lit(FIRST_TIME_MS)
        + week * F.lit(WEEK_MS)
        + hour * F.lit(HOUR_MS)
        + F.floor(fraction * F.lit(float(HOUR_MS))),
    )


def phrases() -> list[str]:
    """Return the 1,024 phrases that comments consist of."""
    return [
        PATTERNS[(7 * place + place // 32) % len(PATTERNS)].format(
            adjective=adjective,
            noun=NOUNS[(place + place // 32) % 32],
            minute=place % 7,
            second=place * 37 % 60,
        )
        for place, adjective in enumerate(ADJECTIVES * 32)
    ]


def with_text(frame: DataFrame, seed: int) -> DataFrame:
    """Add `text`: phrases, with or without an address between them."""
    row_id = F.col("id")
    counts = np.arange(1, MOST_PHRASES + 1)
    frame = frame.withColumns(
        {
            "phrases": draw(seed, "phrases", FURTHER_PHRASE**counts, counts, row_id),
            "words 0": hashed(seed, "words 0", row_id),
            "words 1": hashed(seed, "words 1", row_id),
            "mail word": hashed(seed, "address", row_id),
            "ip word": hashed(seed, "host", row_id),
        }
    )
    table = texts(phrases())
    parts = [
        F.when(
            F.col("phrases") > F.lit(n),
            pick(table, bits(F.col(f"words {n // 6}"), 10 * (n % 6), 10)),
        )
        for n in range(MOST_PHRASES)
    ]
    address = F.when(happens(seed, "mail", MAIL_SHARE, row_id), mail(F.col("mail word"))).when(
        happens(seed, "lookalike", LOOKALIKE_SHARE, row_id),
        pick(texts(LOOKALIKES), below(seed, "which", len(LOOKALIKES), row_id)),
    )
    ip = F.when(happens(seed, "ip", IP_SHARE, row_id), ip_address(F.col("ip word")))
    # The mail address comes after the first phrase and the IP address at the end, so that
    # searches meet addresses early and late.
    return frame.withColumn("text", F.concat_ws(" ", parts[0], address, *parts[1:], ip))


def mail(word: Column) -> Column:
    """Make a mail address with typical surrounding text, from 64 random bits."""
    return F.concat(
        pick(texts(BEFORE_MAIL), bits(word, 0, 3)),
        F.lit(" "),
        pick(texts(NAMES), F.pmod(bits(word, 3, 16), F.lit(len(NAMES)))),
        F.lit("@"),
        pick(texts(HOSTS), bits(word, 19, 3)),
        F.lit("."),
        pick(texts(ENDINGS), bits(word, 22, 3)),
        pick(texts(AFTER), bits(word, 25, 3)),
    )


def ip_address(word: Column) -> Column:
    """Make an IPv4 address with typical surrounding text, from 64 random bits."""
    octets = [F.pmod(bits(word, 0, 16), F.lit(223)) + F.lit(1)]
    octets += [bits(word, 16 + 8 * place, 8) for place in range(3)]
    return F.concat(
        pick(texts(BEFORE_IP), bits(word, 40, 3)),
        F.lit(" "),
        F.concat_ws(".", *(octet.cast("string") for octet in octets)),
        pick(texts(AFTER), bits(word, 43, 3)),
    )


def completed(frame: DataFrame, seed: int) -> DataFrame:
    """Add text and user to each comment."""
    row_id = F.col("id")
    frame = with_text(frame, seed).withColumn("u", uniform(seed, "user", row_id))
    user = F.lit(1) + F.floor(F.col("u") * F.col("u") * F.lit(float(USERS)))
    known = ~happens(seed, "anonymous", ANONYMOUS_SHARE, row_id)
    return frame.withColumn("user", F.when(known, user))


def parameters(rows: int) -> dict[str, Any]:
    """Return all parameters of the set, for `dataset.json`."""
    return {
        "rows": rows,
        "songs": SONGS,
        "zipf_exponent": ZIPF_EXPONENT,
        "users": USERS,
        "anonymous_share": ANONYMOUS_SHARE,
        "rows_per_week": ROWS_PER_WEEK,
        "weeks": math.ceil(rows / ROWS_PER_WEEK),
        "release_weeks": RELEASE_WEEKS,
        "burst_share": BURST_SHARE,
        "mail_share": MAIL_SHARE,
        "ip_share": IP_SHARE,
        "lookalike_share": LOOKALIKE_SHARE,
    }


GENERATOR = Generator(
    tables={"comments": TableRows(ids=lambda rows: rows, timed=timed, completed=completed)},
    parameters=parameters,
)
