"""Names on a page: explained where they are met first, and listed."""

from __future__ import annotations

import re

from figures import names

SENTENCES = {
    "MQ": "MQ: one locked queue an input.",
    "MQ, cached": "MQ whose reader caches `heads`.",
    "B+-Tree": "The B+-Tree: entries in leaves.",
    "Stream": "A plan as one stream.",
    "WiML": "WiML: a window merged list.",
}


def links_in(text):
    return re.findall(r'<a class="name" href="#(.*?)"><abbr title="(.*?)">(.*?)</abbr></a>', text)


def test_a_name_is_explained_where_it_is_met_first_and_only_there():
    text = names.explained("<p>MQ and MQLF.</p><p>MQ again.</p>", SENTENCES)
    assert links_in(text) == [("name-MQ", "MQ: one locked queue an input.", "MQ")]
    assert text.startswith('<p><a class="name"') and text.endswith("<p>MQ again.</p>")


def test_the_longest_name_is_read():
    text = names.explained("<p>MQ, cached, then MQ</p>", SENTENCES)
    assert [shown for *_, shown in links_in(text)] == ["MQ, cached", "MQ"]
    assert 'title="MQ whose reader caches heads."' in text


def test_no_link_is_put_into_a_link_a_heading_or_a_drawing():
    text = (
        '<h1>MQ</h1><a href="x"><b>MQ</b></a><svg><text>MQ</text></svg><code>MQ</code>'
        '<option value="MQ">MQ</option><p title="MQ">MQ</p>'
    )
    found = names.explained(text, SENTENCES)
    assert len(links_in(found)) == 1 and '<p title="MQ"><a class="name"' in found


def test_names_of_the_page_are_listed_in_order_and_others_are_not():
    text = names.explained(f"{names.LINK}<p>B+-Tree</p>{names.HERE}<a>MQ</a> Stream", SENTENCES)
    items = re.findall(r'<li id="(.*?)">(.*?)</li>', text)
    assert items == [
        ("name-B--Tree", "<dfn>B+-Tree</dfn>: The B+-Tree: entries in leaves."),
        ("name-MQ", "<dfn>MQ</dfn>: one locked queue an input."),
    ]
    assert text.startswith(f'<a href="#{names.PLACE}">{names.TITLE}</a><p>')


def test_without_names_there_is_no_list_and_no_link_to_it():
    assert names.explained(f"{names.LINK}<p>x</p>{names.HERE}", SENTENCES) == "<p>x</p>"
    assert names.explained(f"{names.LINK}<p>x</p>{names.HERE}", {}) == "<p>x</p>"
