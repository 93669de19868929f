
"serve
	
nNoOp