%
"serve
	
nNoOp*
kmethod