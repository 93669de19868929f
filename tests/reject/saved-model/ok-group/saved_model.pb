
"serve
	
nNoOp{|