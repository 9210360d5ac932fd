# The chart of a run: gnuplot -e "folder='build/bench/full'" bench/ratios.gp
set terminal svg size 900,760 font "sans-serif,12" background "white"
set output folder."/ratios.svg"
set title "Ratio to the built-in: median and quartiles (blue), mark (orange)" offset -20,0
set xlabel "ratio"
set border 3
set tics nomirror
set grid xtics ytics lc rgb "#dddddd"
set lmargin 44
set xrange [0.5:*]
unset key
stats folder."/ratios.dat" using 1 nooutput
set yrange [STATS_max+1:-1]
plot folder."/ratios.dat" using 3:1:4:5:ytic(2) with xerrorbars lc rgb "#1f5fa8" lw 2 pt 7 ps 0.5, \
     '' using 6:1 with points pt 2 ps 0.9 lc rgb "#d1722c"
