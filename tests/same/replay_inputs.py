"""Small inputs of ``millrace replay``, with the same bytes each time."""

from __future__ import annotations

import csv
import gzip
import io
import random
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

ROWS = 1_500
MIDNIGHT_S = 1_009_843_200  # 2002-01-01
Rows = Iterable[Sequence[object]]


def write(path: Path, names: Sequence[str], rows: Rows) -> None:
    """Write a CSV file, compressed if the name says so."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(rows)
    content = text.getvalue().encode()
    path.write_bytes(gzip.compress(content, mtime=0) if path.suffix == ".gz" else content)


def times(chance: random.Random, pauses: Sequence[int], begin: int = 0) -> Iterator[int]:
    """Yield ascending times, with ties where a pause may be 0."""
    at = begin
    for _ in range(ROWS):
        at += chance.choice(pauses)
        yield at


def readings(seed: int) -> Rows:
    """Yield readings of meters, with a comment each that may hold an address."""
    chance = random.Random(seed)
    for at in times(chance, (0, 1, 1, 3)):
        who = chance.choice(("", "", f" ask anna{chance.randrange(9)}@example.org"))
        comment = f"reading {chance.randrange(99)}{who}"
        yield at, f"meter-{chance.randrange(7)}", f"{chance.randrange(-900, 90_000) / 100}", comment


def numbers(seed: int, columns: int) -> Rows:
    """Yield tuples of a time and some numbers with one decimal."""
    chance = random.Random(seed)
    for at in times(chance, (0, 1, 2)):
        yield at, *(chance.randrange(4_000) / 10 for _ in range(columns))


def sales() -> Rows:
    """Yield lines of tickets, a ticket after the other."""
    chance = random.Random(5)
    ticket = 0
    for at in times(chance, (0, 0, 0, 3_600, 30_000), MIDNIGHT_S):
        ticket += chance.random() < 0.3
        item, store = 11 * chance.randrange(30) + 5, chance.choice((10, 10, 11))
        yield at, 7 * ticket + 100, item, store, chance.randrange(50, 9_000) / 100


def clicks() -> Rows:
    """Yield clicks, some without a user, an item or a page."""
    chance = random.Random(6)
    for at in times(chance, (0, 5, 5, 400, 30_000), MIDNIGHT_S):
        user, item = 3 * chance.randrange(15) + 1, 11 * chance.randrange(30) + 5
        page, sale = 3 * chance.randrange(6) + 1, chance.randrange(1 << 20)
        given = zip((user, item, page, sale), (0.8, 0.9, 0.97, 0.2), strict=True)
        yield at, *(value if chance.random() < share else "" for value, share in given)


def write_inputs(folder: Path) -> None:
    """Write all inputs that ``replay`` names into a folder."""
    for seed, name in enumerate(("north.csv", "south.csv.gz")):
        write(folder / name, ("ts", "meter", "kwh", "comment"), readings(seed))
    for seed, name in enumerate(("r.csv", "s.csv.gz", "r1.csv")):
        names = ("ts", "a", "b") if name.startswith("s") else ("ts", "x", "y")
        write(folder / name, names, numbers(seed, 2))
    write(
        folder / "sales.csv", ("time", "ticket_number", "item_sk", "store_sk", "net_paid"), sales()
    )
    write(
        folder / "clicks.csv.gz",
        ("time", "user_sk", "item_sk", "web_page_sk", "sales_sk"),
        clicks(),
    )
    items = ((11 * n + 5, n % 5 + 1) for n in range(30) if n % 7 != 2)
    write(folder / "items.csv", ("item_sk", "category_id"), items)
    kinds = ("order", "dynamic", "feedback", "general", "ad", "order")
    write(
        folder / "pages.csv", ("web_page_sk", "type"), ((3 * n + 1, k) for n, k in enumerate(kinds))
    )
    # Inputs that are refused in whole or in part.
    (folder / "empty.csv").write_text("")
    write(folder / "falling.csv", ("ts", "x", "y"), [(5, 1, 1), (4, 1, 1)])
    write(
        folder / "words.csv", ("ts", "meter", "kwh"), [(1, "a", 2), (2, "b", "many"), (3, "c", "")]
    )
