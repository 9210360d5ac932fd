set logscale xy
set format x "10^{%L}"
set format y "10^{%L}"
set xlabel "horizon: rows in the stream"
set ylabel "mean squared error, epsilon = 1"
plot data using 1:6 with lines linecolor rgb c_binary title "binary tree (plain, k = 2)", \
     data using 1:7 with lines linecolor rgb c_honaker title "Honaker online", \
     data using 1:5 with lines linecolor rgb c_plain title "plain, best k", \
     data using 1:4 with lines linecolor rgb c_k19 title "subtraction, k = 19 (the paper)", \
     data using 1:3 with lines linecolor rgb c_sub title "subtraction, best k", \
     data using 1:2 with lines linecolor rgb c_hat linewidth 2.5 title "hat (the default)"
