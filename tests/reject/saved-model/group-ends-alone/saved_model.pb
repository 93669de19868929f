
"serve
	
nNoOp|