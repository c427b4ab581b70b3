"""Would a test notice? Guards are taken out of the code one at a time, and the tests nearest to
each are run: `python3 dev.py mutants`.
"""
