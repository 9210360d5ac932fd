# Charts of a run: gnuplot -e "folder='build/bench/full'" bench/charts.gp
set terminal svg size 800,480 font "sans-serif,12" background "white"
set style line 1 lc rgb "#1f5fa8" lw 2 pt 7 ps 0.5
set style line 2 lc rgb "#d1722c" lw 2 pt 7 ps 0.5
set style line 3 lc rgb "#777777" lw 2 pt 7 ps 0.5
set border 3
set tics nomirror
set grid ytics lc rgb "#dddddd"
set yrange [0:*]
set logscale x
set format x "10^{%L}"

set output folder."/draws.svg"
set title "One noise value: median and quartiles"
set xlabel "scale"
set ylabel "ns"
set key at graph 0.98, 0.83
plot for [i=0:2] folder."/draws.dat" index i using 1:2:3:4 with yerrorlines ls i+1 title columnheader(1)

set output folder."/horizons.svg"
set title "A row on the server against the horizon: median and quartiles"
set xlabel "horizon T"
set ylabel "ns a row"
set key bottom left
plot for [i=0:1] folder."/horizons.dat" index i using 1:2:3:4 with yerrorlines ls i+1 title columnheader(1)

set terminal svg size 900,760 font "sans-serif,12" background "white"
set output folder."/ratios.svg"
unset logscale x
set format x "%.2g"
set title "Ratio to the built-in: median and quartiles (blue), mark (orange)" offset -20,0
set xlabel "ratio"
unset ylabel
set grid xtics lc rgb "#dddddd"
set lmargin 44
set xrange [0.5:*]
unset key
stats folder."/ratios.dat" using 1 nooutput
set yrange [STATS_max+1:-1]
plot folder."/ratios.dat" using 3:1:4:5:ytic(2) with xerrorbars ls 1, \
     '' using 6:1 with points pt 2 ps 0.9 lc rgb "#d1722c"
