-- What was protected, and what it cost.

SELECT 3 * :epsilon AS total \gset

\echo
\echo
\echo '3. What was protected'
\echo
\echo '   Protected: one bit of one row: whether one given flight was late. Even for somebody who knows all the other'
\echo '              flights and sees every private number of a table, no outcome is more than e^epsilon times as'
\echo '              likely with that flight late as with it on time; epsilon =' :epsilon 'for each table and for the'
\echo '              counter. (The counter protects more: that a late flight is in it at all.)'
\echo '   Public:    how many flights there are, their order and departure, and the airport of each.'
\echo '   Spent:     epsilon =' :epsilon 'for table 1 and, as a flight has one airport only, epsilon =' :epsilon 'for table 2,'
\echo '              and epsilon =' :epsilon 'for the whole life of the live counter: together epsilon =' :total'.'
\echo '              To run a query again draws new noise and spends its epsilon again.'
\echo '              To read a stored result again costs nothing.'
\echo
\echo 'The columns "true" and "error" are for your eyes: they are not private, and a real release leaves them out.'
\echo
