"""Reconcile: a source's tables against silver, from counts and hashes down to the differing keys.

The known position. A source goes on while it is compared, so nothing is judged by one look:

1. The newest published cut B is taken, then the source is read in one transaction that sees one
   state S of it (REPEATABLE READ), and the end P of the source's log is read inside it. What B
   holds was committed long before S, and all that S shows was committed before P.
2. Each table is counted and hashed in buckets of keys on both sides. Buckets that are equal are
   done. The rows of the others are read key by key on both sides: keys that differ are candidates.
   A table without candidates is equal: silver at B is the source at P.
3. For candidates a published cut A is awaited that reached P: it holds a streamed event from
   behind P, and a cut is a prefix of the log. A candidate that is equal to silver at A is settled.
   One that differs, and is in A as it was in B, had no change between: it is found. Any other one
   changed meanwhile, and goes into the next round, with a new S. What changes in every round has
   been written anew from the source each time: it is counted, and neither equal nor found.

So a finding needs two cuts with the same rows, positions and delete marks of its key, one from
before and one from behind the state of the source that it differs from. Where nobody writes to the
source no cut can show that it reached P: `reconcile.marker` names a signal table in which the
command may then write a row. Without one such keys stay open, and are told as open.

What is compared: the text of values in a form that a value of the source and the same value of
silver share (`canonical`, `texts`), made by the same Python code on both sides. Masked columns, and
those whose values lose more on their way than that form leaves out, are not compared, and said to
be so. Rows that are only marked as deleted count as gone. In a table without a key equal rows are
counted.
"""
