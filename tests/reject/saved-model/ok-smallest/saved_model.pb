
"serve
	
nNoOp