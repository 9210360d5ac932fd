set xlabel "hour of 14 and 15 June 2001"
set ylabel "late flights from Chicago O'Hare so far"
set xrange [1:48]
set xtics 6
set yrange [0:*]
plot data using 1:4:5 with filledcurves linecolor rgb "#cfe8dd" title "95 % interval (dp\\_interval)", \
     data using 1:3 with linespoints pointtype 7 pointsize 0.4 linecolor rgb c_hat title "private count, epsilon = 0.2", \
     data using 1:2 with lines linecolor rgb "#222222" title "true count"
