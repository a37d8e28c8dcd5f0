//go:build !purego

#include "textflag.h"
#include "fold_amd64.h"

// Sixteen numbers take twice their width in bytes, so that they begin at the same bits
// each time.

// func unpack16(dst *uint32, b *byte, n int, bit, width uint64)
TEXT ·unpack16(SB), NOSPLIT, $0-40
	MOVQ         dst+0(FP), DI
	MOVQ         b+8(FP), SI
	MOVQ         n+16(FP), DX
	MOVQ         width+32(FP), CX
	VPBROADCASTD CX, Z0
	VPMULLD      ·sixteen(SB), Z0, Z0
	VPBROADCASTD bit+24(FP), Z1
	VPADDD       Z1, Z0, Z0                  // bit
	MOVL         $7, R8
	VPBROADCASTD R8, Z1
	VPANDD       Z1, Z0, Z1                  // of its byte
	VPSRLD       $3, Z0, Z0
	MOVL         $1, R8
	SHLL         CX, R8
	DECL         R8
	VPBROADCASTD R8, Z2
	SHLQ         $1, CX
	XORQ         AX, AX

unpack:
	KXNORW     K1, K1, K1
	VPXORD     Z10, Z10, Z10
	VPGATHERDD (SI)(Z0*1), K1, Z10
	VPSRLVD    Z1, Z10, Z10
	VPANDD     Z2, Z10, Z10
	VMOVDQU32  Z10, (DI)(AX*4)
	ADDQ       CX, SI
	ADDQ       $16, AX
	CMPQ       AX, DX
	JLT        unpack

	VZEROUPPER
	RET

// func lookCodes16(dst *int32, indexes *uint32, n int, table *int32, last uint64) uint32
TEXT ·lookCodes16(SB), NOSPLIT, $0-44
	MOVQ         dst+0(FP), DI
	MOVQ         indexes+8(FP), R8
	MOVQ         n+16(FP), CX
	MOVQ         table+24(FP), SI
	VPBROADCASTD last+32(FP), Z3
	VPXORD       Z0, Z0, Z0                  // the largest
	XORQ         AX, AX

codes:
	VMOVDQU32  (R8)(AX*4), Z10
	VPMAXUD    Z10, Z0, Z0
	VPMINUD    Z10, Z3, Z10
	KXNORW     K1, K1, K1
	VPXORD     Z11, Z11, Z11
	VPGATHERDD (SI)(Z10*4), K1, Z11
	VMOVDQU32  Z11, (DI)(AX*4)
	ADDQ       $16, AX
	CMPQ       AX, CX
	JLT        codes

	FOLD(VPMAXUD, Z0, Y0, X0)
	VPSRLDQ       $4, X0, X10
	VPMAXUD       X10, X0, X0
	VMOVD         X0, R9
	MOVL          R9, ret+40(FP)
	VZEROUPPER
	RET

// func translate16(dst, codes *int32, n int, table *int32, last uint64) uint32
TEXT ·translate16(SB), NOSPLIT, $0-44
	JMP ·lookCodes16(SB)

// func lookFloats8(dst *float64, indexes *uint32, n int, table *float64, last uint64) uint32
TEXT ·lookFloats8(SB), NOSPLIT, $0-44
	JMP ·lookInts8(SB)

// func lookInts8(dst *int64, indexes *uint32, n int, table *int64, last uint64) uint32
TEXT ·lookInts8(SB), NOSPLIT, $0-44
	MOVQ         dst+0(FP), DI
	MOVQ         indexes+8(FP), R8
	MOVQ         n+16(FP), CX
	MOVQ         table+24(FP), SI
	VPBROADCASTD last+32(FP), Y3
	VPXORD       Y0, Y0, Y0                  // the largest
	XORQ         AX, AX

ints:
	VMOVDQU32  (R8)(AX*4), Y10
	VPMAXUD    Y10, Y0, Y0
	VPMINUD    Y10, Y3, Y10
	KXNORB     K1, K1, K1
	VPXORQ     Z11, Z11, Z11
	VPGATHERDQ (SI)(Y10*8), K1, Z11
	VMOVDQU64  Z11, (DI)(AX*8)
	ADDQ       $8, AX
	CMPQ       AX, CX
	JLT        ints

	VEXTRACTI32X4 $1, Y0, X10
	VPMAXUD       X10, X0, X0
	VPSRLDQ       $8, X0, X10
	VPMAXUD       X10, X0, X0
	VPSRLDQ       $4, X0, X10
	VPMAXUD       X10, X0, X0
	VMOVD         X0, R9
	MOVL          R9, ret+40(FP)
	VZEROUPPER
	RET

// func spreadCodes(dst *int32, at int, where *uint64, n, present int) int
TEXT ·spreadCodes(SB), NOSPLIT, $0-48
	MOVQ dst+0(FP), DI
	MOVQ at+8(FP), R8
	MOVQ where+16(FP), SI
	MOVQ n+24(FP), CX
	MOVQ present+32(FP), DX
	MOVQ CX, R9
	SHLQ $6, R9
	ADDQ R9, R8                              // where the rows end that are not done

spreadCodesWord:
	CMPQ DX, R8                              // all that are left are in their places
	JEQ  spreadCodesDone
	DECQ CX
	JLT  spreadCodesDone
	MOVQ (SI)(CX*8), R9
	MOVQ $4, R10

spreadCodesGroup:
	ROLQ       $16, R9
	MOVWLZX    R9, R11
	KMOVW      R11, K1
	POPCNTL    R11, R11
	SUBQ       R11, DX
	JLT        spreadCodesEnd                // fewer values than bits
	SUBQ       $16, R8
	VPEXPANDD.Z (DI)(DX*4), K1, Z0
	VMOVDQU32  Z0, (DI)(R8*4)
	DECQ       R10
	JNE        spreadCodesGroup
	JMP        spreadCodesWord

spreadCodesDone:
	// Of the words that are left all rows have values.
	TESTQ CX, CX
	JLE   spreadCodesEnd
	SHLQ  $6, CX
	SUBQ  CX, DX

spreadCodesEnd:
	MOVQ DX, ret+40(FP)
	VZEROUPPER
	RET

// func spreadFloats(dst *float64, at int, where *uint64, n, present int) int
TEXT ·spreadFloats(SB), NOSPLIT, $0-48
	JMP ·spreadInts(SB)

// func spreadInts(dst *int64, at int, where *uint64, n, present int) int
TEXT ·spreadInts(SB), NOSPLIT, $0-48
	MOVQ dst+0(FP), DI
	MOVQ at+8(FP), R8
	MOVQ where+16(FP), SI
	MOVQ n+24(FP), CX
	MOVQ present+32(FP), DX
	MOVQ CX, R9
	SHLQ $6, R9
	ADDQ R9, R8                              // where the rows end that are not done

spreadIntsWord:
	CMPQ DX, R8                              // all that are left are in their places
	JEQ  spreadIntsDone
	DECQ CX
	JLT  spreadIntsDone
	MOVQ (SI)(CX*8), R9
	MOVQ $8, R10

spreadIntsGroup:
	ROLQ       $8, R9
	MOVBLZX    R9, R11
	KMOVB      R11, K1
	POPCNTL    R11, R11
	SUBQ       R11, DX
	JLT        spreadIntsEnd                 // fewer values than bits
	SUBQ       $8, R8
	VPEXPANDQ.Z (DI)(DX*8), K1, Z0
	VMOVDQU64  Z0, (DI)(R8*8)
	DECQ       R10
	JNE        spreadIntsGroup
	JMP        spreadIntsWord

spreadIntsDone:
	// Of the words that are left all rows have values.
	TESTQ CX, CX
	JLE   spreadIntsEnd
	SHLQ  $6, CX
	SUBQ  CX, DX

spreadIntsEnd:
	MOVQ DX, ret+40(FP)
	VZEROUPPER
	RET
