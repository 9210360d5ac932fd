set logscale x
set xrange [7:1000]
set yrange [0:150]
set xtics (7, 14, 30, 52, 90, 180, 365, 730, 1000)
set xlabel "horizon: steps in the stream"
set ylabel "mean squared error, in units of 1/epsilon^2"
plot data using 1:5 with lines linecolor rgb c_binary title "noise per step", \
     data using 1:4 with lines linecolor rgb c_k19 title "subtraction, k = 19 (the paper)", \
     data using 1:3 with lines linecolor rgb c_sub title "subtraction, best k", \
     data using 1:2 with lines linecolor rgb c_hat linewidth 2.5 title "hat (the default)", \
     data using 1:6 with points pointtype 7 pointsize 0.6 linecolor rgb "#222222" title "best known, any nodes"
