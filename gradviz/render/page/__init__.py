"""The report: one page in HTML, whole in itself, in which a walk can be stepped through.

`record.py` writes the walk down as compact JSON, `page.py` puts the page together. What the page does stands beside
them in plain JavaScript: `walk.js` folds the events into the state and undoes them, `list.js` draws lists of which only
the visible rows exist, `here.js` draws the neighbourhood of the event, `panes.js` fills the panes and `main.js` moves.

It lives under another name than `gradviz.render.report`, which is the function that writes it.
"""
