
"a"b
	
nNoOp
"b"a
	
nNoOp