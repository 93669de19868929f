
"serve
	
nNoOp