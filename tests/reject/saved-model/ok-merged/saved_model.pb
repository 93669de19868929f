#
"serve
	
nNoOp
	
mNoOp