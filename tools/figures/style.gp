# What all figures share.
set terminal svg size 800,480 font "sans-serif,13" background "#ffffff" linewidth 1.4
set grid linecolor "#dddddd" linewidth 0.7
set border 3
set tics nomirror out
set key left top reverse Left samplen 2
c_hat = "#0b6e4f"; c_sub = "#b5651d"; c_k19 = "#d9a441"
c_plain = "#8c7aa9"; c_binary = "#888888"; c_honaker = "#5b7db1"; c_gauss = "#c0392b"
