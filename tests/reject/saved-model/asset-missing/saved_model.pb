&
"serve
	
nNoOp2

x:0a.txt