ƒ
"servex
 
cPartitionedCall*

fR
f)
'

f 
cPartitionedCall*

fR
g)
'

g 
cPartitionedCall*

fR
f