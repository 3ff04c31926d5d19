module board

go 1.18
