
"serve
NoOp