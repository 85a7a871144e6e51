"""What a model is sent: the log, the overlays on it, the assembly of a request, and the cuts.

`engine.py` prepares each iteration, `queries.py` answers what it holds, `context_editor.py` changes it, and
`views.py` has the results that faces get.
"""
