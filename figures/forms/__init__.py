"""The forms that figures are drawn in, a module each; a figure's declaration names its form.

A form has ``select(results, view)``, which returns the table of a view of a figure
(``figures.view``, ``figures.cells``), and ``draw(table, view, footer)``, which returns the picture
of that table and computes nothing but scales. What no form can say is a module of
``figures/<paper>`` with the same two functions.

=============  ====================================================================================
``curves``     quantities over a swept setting, a panel each: throughput above, latencies below
``over_rate``  latency over the offered rate, with each line's closed-loop throughput
``in_flight``  quantities over the tuples that may be in flight, a line a variant
``dots``       quantities of lines that have one place each: a labelled dot for each
``bars``       the same as bars from zero
``rows``       many lines at one place: sorted, labelled rows; the extended form of the others
``beside``     quantities over a swept setting, a column of panels for each value of another one
``stack``      parts of a whole, in shares, time or bytes: a stacked bar a line
``over_time``  quantities over the seconds of one run, and what was offered
=============  ====================================================================================

Rules for a form's author. `docs/figure-good.png` keeps them, `docs/figure-bad.png` shows the same
rows without them.

1. *Only what was measured.* Nothing is drawn between the places of an axis that has two or three:
   they are categories whose dots no line joins (``plot.PLACES_FOR_A_CURVE``); from four on x is
   logarithmic, but for time. There a line of fewer is joined too: an axis over what each line has
   values of its own for, as tuples in flight, has places that no other line has, and only a line
   tells which dots are of one. A marker stands wherever was measured.
   What is predicted follows from something measured, is a grey dash, and its key says "predicted".
2. *No glyph beside a marker.* A state is in the background (grey: more threads than cores), in the
   marker (pale: ``style.WEAK``), at the edge (a caret: saturated), or on the axis (a red cross:
   failed). ``marks`` draws them all; ``plot.notes_of`` counts them in the footer.
3. *No value where there is none.* A saturated latency and a failed point are joined to nothing and
   widen no axis: what is on scale comes from ``cells.readable_values``. A line has a gap there.
4. *A spread is called what it is.* ``spread`` of the table is its word, in the key as in the CSV. A
   band or a thick bar is a 95 % interval; a range is a thin whisker with a tick at each of its
   values. A bracket of a rate search has a mark of its own and is never joined with closed-loop
   rates; a form that draws none selects none.
5. *The axis says what was measured*: closed loop or sustained, processor time or time. Its words
   are the quantity's label, in ``Quantity`` and nowhere else. Rates and bars begin at zero; times
   are logarithmic; rates of many lines that span more than a decade may be.
6. *Names at the lines*, at their ends or in their rows, where they fit (``marks.names_fit``); a key
   only else. Many lines at one place are sorted rows and not points beside each other.
7. *Two widths*, ``style.NARROW`` and ``style.WIDE``, as columns are printed, and two sizes of text,
   8 and 7 points. A picture grows downwards with what it holds: room for text is measured
   (``style.width_of``, ``style.wrapped``), never guessed. No text lies over another, over a marker
   or over the frame; ``tests/figures/test_overlap.py`` tries with rows made up to be nasty.
8. *It can be read in grey*: marker and dash tell lines apart, and each state differs by more than
   its colour (``tests/figures/test_grey.py``).
9. *Never twice.* An extended form that would show the panels, lines and places of the paper's form
   is not drawn (``draw.repeats``).
10. *Equal data, equal bytes.* Nothing random, nothing of today, no order of a set.

The table holds everything that is drawn, values and marks, and is the CSV beside the picture.
"""
