
"serve