"
"serve
	
nNoOp


ab