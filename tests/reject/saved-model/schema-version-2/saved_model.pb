
"serve
	
nNoOp