# Writes the file INPUT as the byte array NAME_text, of NAME_size bytes, to the C source OUTPUT.
file(READ ${INPUT} hex HEX)
string(LENGTH "${hex}" digits)
math(EXPR size "${digits} / 2")
string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
string(REPEAT "0x..," 16 line)
string(REGEX REPLACE "(${line})" "\\1\n" bytes "${bytes}")
file(WRITE ${OUTPUT} "#include <stddef.h>\nextern const unsigned char ${NAME}_text[];\nextern const size_t ${NAME}_size;\nconst unsigned char ${NAME}_text[] = {\n${bytes}\n};\nconst size_t ${NAME}_size = ${size};\n")
