// FOLD leaves in the low half of the last register what op makes of all eight words
// of a vector, given by its names of 64, 32 and 16 bytes. It uses Z10.
#define FOLD(op, z, y, x) \
	VEXTRACTI64X4 $1, z, Y10 \
	op            Y10, y, y \
	VEXTRACTI64X2 $1, y, X10 \
	op            X10, x, x \
	VPSRLDQ       $8, x, X10 \
	op            X10, x, x
