# Flu visits a week: truth, release and its 95 % band. Reads build/demo/flu.tsv, writes build/demo/flu.png.
set terminal pngcairo size 1100, 500 font "sans,11"
set output 'build/demo/flu.png'
set xdata time
set timefmt '%Y-%m-%d'
set format x "%b\n%Y"
set yrange [0:*]
set grid y
set border 3
set tics nomirror
set key top right
set title 'Flu visits a week, north; what a patient does in a year is protected, epsilon 1'
plot 'build/demo/flu.tsv' using 1:4:5 with filledcurves fillcolor rgb '#9ecae1' title '95 % band (of the visits that the bound keeps)', \
     '' using 1:3 with lines linewidth 1.5 linecolor rgb '#08519c' title 'released', \
     '' using 1:2 with lines linewidth 1 linecolor rgb '#d95f02' title 'truth'
