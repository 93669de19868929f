
"serve
	
nNoOpÿÿÿÿÿÿÿÿÿ