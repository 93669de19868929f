
"serve
	
nNoOp€