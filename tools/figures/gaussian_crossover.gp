set logscale x
set format x "10^{%L}"
set xlabel "delta"
set ylabel "root mean squared error, epsilon = 1, 1,000,000 rows"
set yrange [0:*]
set key left bottom
plot data using 1:6 with lines linecolor rgb c_gauss dashtype 3 title "Henzinger, Upadhyay, Upadhyay (bound)", \
     data using 1:5 with lines linecolor rgb c_gauss dashtype 2 title "square root, classic Gaussian", \
     data using 1:4 with lines linecolor rgb c_gauss title "normalized square root, analytic Gaussian noise", \
     data using 1:3 with lines linecolor rgb c_k19 title "subtraction, k = 19: no delta", \
     data using 1:2 with lines linecolor rgb c_hat linewidth 2 title "hat: no delta"
