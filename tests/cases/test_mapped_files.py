"""Files of sales and clicks: conditions of a mapping, and tables of items and pages."""

from __future__ import annotations

import pyarrow as pa

from tests.cases.files import Case, inputs_of, trying

BASKETS = (
    "when,inv,item,qty,country,zip\n10,1,a,6,NO,01234\n11,1,b,6,NO,01234\n"
    "12,2,a,-1,UK,99999\n13,2,b,6,UK,99999\n14,1,c,200,NO,01234\n"
)
SALES = (
    "time,ticket_number,item_sk,store_sk,net_paid\n10,1,7,10,1.50\n11,1,8,10,2.00\n"
    "12,2,7,20,1\n13,2,8,20,1\n"
)
CLICKS = "time,user_sk,item_sk,web_page_sk,sales_sk\n10,1,7,1,\n11,1,8,2,\n20,2,7,1,\n21,2,8,1,5\n"
AB = (0, "a", "b", 1)


def mapping(keep: str) -> str:
    return f"columns: {{time: when, ticket: inv, item: item}}\nkeep: {keep}\n"


TEXTS = {
    "baskets.csv": BASKETS,
    "blank.csv": BASKETS.replace(",UK,", ", UK,"),
    "quoted.csv": BASKETS.replace(",UK,", ',"UK",'),
    "norway.yaml": mapping("{country: NO}"),
    "uk.yaml": mapping("{country: UK}"),
    "below.yaml": mapping('{qty: "< 200"}'),
    "at_least.yaml": mapping('{qty: ">= 6"}'),
    "two.yaml": mapping('{country: ["NO", UK]}'),
    "either.yaml": mapping('{qty: ["< 0", 200]}'),
    "zip.yaml": mapping("{zip: 01234}"),
    "nobody.yaml": mapping("{country: Norway}"),
    "nothing.yaml": mapping("{country: null}"),
    "none.yaml": mapping("{country: []}"),
    "nested.yaml": mapping("{country: {is: UK}}"),
    "equals.yaml": mapping('{qty: "== 6"}'),
    "words.yaml": mapping('{country: "> UK"}'),
    "no_number.yaml": mapping('{country: "> 5"}'),
    "twice.yaml": mapping("{country: UK, country: NO}"),
    "one_column.yaml": "columns: {time: when, ticket: inv, item: inv}\n",
    "sales.csv": SALES,
    "long_item.csv": SALES.replace(",7,", ",18446744073709551615,"),
    "long_money.csv": SALES.replace("1.50", "99999999999999999999"),
    "no_item.csv": SALES.replace(",7,", ",seven,"),
    "other_stores.csv": SALES.replace(",10,", ",11,").replace(",20,", ",21,"),
    "items.csv": "item_sk,category_id\n7,1\n8,2\n8,2\n",
    "items_twice.csv": "item_sk,category_id\n7,1\n8,2\n8,9\n",
    "items_two_columns.csv": "item_sk,category_id,category_id\n7,1,1\n8,2,2\n",
    "items_blank.csv": "item_sk, category_id\n 7, 1\n 8, 2\n",
    "items_others.csv": "item_sk,category_id\n7,4\n8,5\n",
    "items_missing.csv": "item_sk,category_id\n7,1\n8,\n",
    "clicks.csv": CLICKS,
    "nobody.csv": CLICKS.replace(",1,", ",,").replace(",2,", ",,"),
    "no_pages.csv": "web_page_sk,type\n",
    "pages.csv": "web_page_sk,type\n1,dynamic\n2,order\n",
    "pages_case.csv": "web_page_sk,type\n1,Dynamic\n2,order\n",
    "pages_blank.csv": "web_page_sk,type\n1, dynamic\n2, order\n",
    "pages_twice.csv": "web_page_sk,type\n1,dynamic\n2,order\n1,order\n",
}  # fmt: skip
TABLES = {
    "numbers.parquet": {"when": [10, 11], "inv": [1, 1], "item": ["a", "b"], "qty": [6.0, 7.5]},
    "pages_view.parquet": {"web_page_sk": pa.array([1, 2], pa.uint8()),
                           "type": pa.array(["dynamic", "order"]).cast(pa.string_view())},
    "items_double.parquet": {"item_sk": [7.0, 8.0], "category_id": pa.array([1, 2], pa.int16())},
}  # fmt: skip
CASES = {
    # Conditions of a mapping.
    "keep NO is Norway": Case(
        "q1 --input baskets.csv --mapping norway.yaml", ("keep leaves 3 of 5 rows",),
        (AB, (0, "a", "c", 1), (0, "b", "c", 1)), 2),
    "keep < compares": Case(
        "q1 --input baskets.csv --mapping below.yaml", ("keep leaves 4 of 5",),
        ((0, "a", "b", 2),), 2),
    "keep >= compares": Case(
        "q1 --input baskets.csv --mapping at_least.yaml", ("keep leaves 4 of 5",),
        (AB, (0, "a", "c", 1), (0, "b", "c", 1)), 2),
    "keep a list is any of it": Case(
        "q1 --input baskets.csv --mapping two.yaml", ("keep leaves 5 of 5",),
        ((0, "a", "b", 2), (0, "a", "c", 1), (0, "b", "c", 1)), 2),
    "keep a list of numbers": Case(
        "q1 --input baskets.csv --mapping either.yaml", ("keep leaves 2 of 5",), (), 2),
    "keep a number with a leading 0": Case(
        "q1 --input baskets.csv --mapping zip.yaml", ("keep leaves 3 of 5",),
        (AB, (0, "a", "c", 1), (0, "b", "c", 1)), 2),
    "keep behind a blank": Case(
        "q1 --input blank.csv --mapping uk.yaml", ("keep leaves 2 of 5",), (AB,), 2),
    "keep in quotes": Case(
        "q1 --input quoted.csv --mapping uk.yaml", ("keep leaves 2 of 5",), (AB,), 2),
    "keep a value that does not occur": Case(
        "q1 --input baskets.csv --mapping nobody.yaml",
        ("keep country: 'Norway' keeps none of 5 rows", "whose country is 'NO', 'UK'"), (), 2),
    "keep a number of doubles": Case(
        "q1 --input numbers.parquet --mapping at_least.yaml", ("keep leaves 2 of 2",), (AB,), 2),
    "keep null": Case("q1 --input baskets.csv --mapping nothing.yaml",
                      ("keep country is nothing (null)", "give a value, a list")),
    "keep an empty list": Case("q1 --input baskets.csv --mapping none.yaml", ("is an empty list",)),
    "keep a mapping": Case("q1 --input baskets.csv --mapping nested.yaml",
                           ("keep country has dict",)),
    "keep ==": Case("q1 --input baskets.csv --mapping equals.yaml",
                    ("keep qty cannot be compared with '== 6'", "'<= 100'")),
    "keep > of a word": Case("q1 --input baskets.csv --mapping words.yaml",
                             ("cannot be compared with '> UK'",)),
    "keep > of words": Case("q1 --input baskets.csv --mapping no_number.yaml",
                            ("'country' cannot be compared with '> 5', since 'NO' is no number",)),
    "a condition twice": Case("q1 --input baskets.csv --mapping twice.yaml",
                              ("is not YAML at line 2: key 'country' is there twice",)),
    "one column for two": Case("q1 --input baskets.csv --mapping one_column.yaml",
                               ("time, ticket, item must be different columns",)),
    # Tables of items and pages.
    "items": Case("q1 --input sales.csv --items items.csv", (), ((0, 7, 8, 2),)),
    "items with blanks": Case("q1 --input sales.csv --items items_blank.csv", (), ((0, 7, 8, 2),)),
    "items of doubles": Case("q1 --input sales.csv --items items_double.parquet", (),
                             ((0, 7, 8, 2),)),
    "an item twice": Case(
        "q1 --input sales.csv --items items_twice.csv",
        ("has item 8 twice: category_id 2 in line 3 and 9 in line 4", "leave one of them out")),
    "a column twice": Case("q1 --input sales.csv --items items_two_columns.csv",
                           ("2 columns named 'category_id'", "rename all but one")),
    "an item without a category": Case("q1 --input sales.csv --items items_missing.csv",
                                       ("line 3: null category_id", "'8,'; mend the row\n")),
    "no item of the categories": Case(
        "q1 --input sales.csv --items items_others.csv",
        ("asks for categories 1 to 3 of", "none of 4 rows", "there are 4, 5"), (), 2),
    "no sale of the stores": Case(
        "q1 --input other_stores.csv --items items.csv",
        ("asks for stores 10, 20, 33, 40, 50", "there are 11, 21"), (), 2),
    "no sale of the year": Case(
        "q15 --input sales.csv --items items.csv --store 10 --year 2003",
        ("asks for sales of 2003", "there are 1970"), (), 2),
    "no item of the categories in query 3": Case(
        "q3 --items items_others.csv", ("query q3 asks for categories 1 to 3",), (), 2),
    "pages": Case("q4 --pages pages.csv", (), ((1, 1, 1.0),)),
    "page types with a blank": Case("q4 --pages pages_blank.csv", (), ((1, 1, 1.0),)),
    "pages as views of text": Case("q4 --pages pages_view.parquet", (), ((1, 1, 1.0),)),
    "page types in capitals": Case(
        "q4 --pages pages_case.csv",
        ("no page of", "has the type dynamic; there are 'Dynamic', 'order'", "millrace: 0 rows"),
        (), 2),
    "no page": Case("q4 --pages no_pages.csv", ("dynamic or order; there are no pages",), (), 2),
    "no user": Case("replay pipeline q2 --workers 1 --input nobody.csv",
                    ("asks for a user_sk, which none of 4 rows", "none at all"), (), 2),
    "a page twice": Case("q4 --pages pages_twice.csv",
                         ("has page 1 twice: type dynamic in line 2 and order in line 4",)),
    # Numbers of a query.
    "an item of 20 digits": Case("q1 --input long_item.csv --items items.csv",
                                 ("line 2: item_sk beyond 64 bits", "--rejected")),
    "money of 20 digits": Case(
        "q15 --input long_money.csv --items items.csv --store 10 --year 1970",
        ("line 2: net_paid beyond 64 bits",)),
    "an item that is no number": Case("q1 --input no_item.csv --items items.csv",
                                      ("line 2: unparsable item_sk",)),
}  # fmt: skip

inputs = inputs_of(TEXTS, TABLES)
test_a_file_is_read_as_meant_or_a_word_is_said = trying(CASES)
