
"serve
	
nNoOpx