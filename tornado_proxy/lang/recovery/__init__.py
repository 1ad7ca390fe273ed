"""How reading goes on after a mistake, so that one run reports every mistake of a file and invents none.

A *strategy* recognises one kind of mistake at an unexpected token, reports it, and brings parser and lexer to where
reading can go on: mistakes in `tokens`, in `statements`, or lines of another program (`foreign`). Where none applies,
reading goes on at the next *sync point*, where a statement seems to begin.
"""
