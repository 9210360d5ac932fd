set xlabel "flights from Chicago O'Hare, in order of departure"
set ylabel "more than 15 minutes late so far"
set yrange [0:*]
plot data using 1:4:5 with filledcurves linecolor rgb "#cfe8dd" title "95 % interval (dp\\_interval)", \
     data using 1:3 with lines linecolor rgb c_hat linewidth 0.8 title "private count, epsilon = 1", \
     data using 1:2 with lines linecolor rgb "#222222" title "true count"
