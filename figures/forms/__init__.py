"""The forms of figures, one module each; a figure's declaration names its form.

A form has ``select(results, view)``, which returns the table of a view of a figure
(``figures.view``, ``figures.cells``), and ``draw(table, view, footer)``, which returns the picture
of that table and computes only scales. A figure that no form can draw has a module in
``figures/<paper>`` with the same two functions.

================  =================================================================================
``curves``        quantities over a swept setting, a panel each: throughput above, latencies below
``over_rate``     latency over the offered rate, with each line's closed-loop throughput
``in_flight``     quantities over the bound on tuples in flight, a line a variant
``dots``          quantities of lines with a single x each: a labelled dot for each
``bars``          the same as bars from zero
``rows``          many lines at one x: sorted, labelled rows; the extended form of the others
``side_by_side``  quantities over a swept setting, a column of panels a value of another one
``stack``         parts of a whole, in shares, time or bytes: a stacked bar a line
``over_time``     quantities over the seconds of one run, with the offered rate
================  =================================================================================

Rules for a form's author. `docs/figure-good.png` keeps them, `docs/figure-bad.png` shows the same
rows without them.

1. *Draw only measurements.* Fewer than ``plot.PLACES_FOR_A_CURVE`` numbers on the x axis, and
   words, are categories: no line joins their dots, since nothing was measured in between. From
   that many numbers on, x is logarithmic (time is linear). On such an axis a line with fewer points
   is joined too: where every line has x values that no other line shares, as for tuples in
   flight, only the joining line shows which dots belong together. Every measured point has a
   marker.
   The paper's published values are large, hollow and joined to nothing (``figures.stated``).
   A prediction follows from a measurement, is a grey dash, and its key says "predicted".
2. *No glyph next to a marker.* A state is in the background (grey: more threads than cores), in the
   marker (pale: ``style.WEAK``), at the edge (a caret: saturated), or on the axis (a red cross:
   failed). ``marks`` draws them all; ``plot.notes_of`` counts them behind the picture.
3. *Draw no value where there is none.* A saturated latency and a failed point are joined to nothing
   and widen no axis: ``cells.readable_values`` returns the values on scale. The line has a gap
   there.
4. *Name each spread.* The key and the CSV use the word in the table's column ``spread``. A band or
   a thick bar is a 95 % confidence interval; a range is a thin whisker with a tick at each value. A
   bracket of a rate search has a separate mark and is never joined with closed-loop rates; a form
   that draws no brackets selects none.
5. *The axis names the measured quantity*: closed loop or sustained, processor time or time. The
   label is defined in ``Quantity`` and nowhere else. Rates and bars begin at zero; times are
   logarithmic; rates of many lines that span more than a decade may be.
6. *Names at the lines*, at their ends or in their rows, where they fit (``marks.names_fit``);
   otherwise a key. Many lines at one x are sorted rows, not points side by side.
7. *Two widths*, ``style.NARROW`` and ``style.WIDE``, as columns are printed, and two sizes of text,
   8 and 7 points. A picture grows downwards with its content: room for text is measured
   (``style.width_of``, ``style.wrapped``), never guessed. No text lies over another, over a marker
   or over the frame; ``tests/figures/test_overlap.py`` tries rows invented to be nasty.
8. *Readable in grey*: marker and dash tell lines apart, and each state differs by more than colour
   (``tests/figures/test_grey.py``).
9. *Draw nothing twice.* A figure has an extended form only if that form adds lines or quantities
   (``files.forms_of``).
10. *Equal data, equal bytes.* No randomness, no dates, no iteration order of a set.

The table holds every drawn value and mark, and is saved as a CSV next to the picture.
"""
