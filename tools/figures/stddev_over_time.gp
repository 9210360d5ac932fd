set xlabel "step"
set ylabel "standard deviation of the release, epsilon = 1"
set yrange [0:*]
set key outside right top
plot data using 1:4 with lines linecolor rgb c_binary linewidth 0.6 title "binary tree", \
     data using 1:3 with lines linecolor rgb c_k19 linewidth 0.8 title "subtraction, k = 19", \
     data using 1:2 with lines linecolor rgb c_hat linewidth 1.6 title "hat (the default)"
