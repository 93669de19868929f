
"serve
	
nNoOp{