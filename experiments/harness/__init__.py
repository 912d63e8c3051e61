"""The measuring harness: it starts threads, keeps time and writes down what it saw.

Read in the order of the flow: ``profiles`` and ``plan`` say what will be measured, ``runner`` walks
through one figure, ``measurement`` measures one point with the compiled driver of ``injection``
(whose threads report in the words of ``control``),
``oracle`` says what the output must be, ``columns`` what is written down and ``results`` where.
"""
