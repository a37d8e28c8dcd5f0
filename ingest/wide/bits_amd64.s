//go:build !purego

#include "textflag.h"

// In all of them AX counts the rows that are done and CX is how many there are.

// func zeros8(dst *uint64, x *float64, n int)
TEXT ·zeros8(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ n+16(FP), CX
	XORQ AX, AX

zeros:
	VMOVDQU64 (SI)(AX*8), Z10
	VPADDQ    Z10, Z10, Z10
	VPTESTNMQ Z10, Z10, K1
	KMOVB     K1, R11
	MOVB      R11, (DI)
	INCQ      DI
	ADDQ      $8, AX
	CMPQ      AX, CX
	JLT       zeros

	VZEROUPPER
	RET

// func equal16(dst *uint64, codes *int32, n int, code int32)
TEXT ·equal16(SB), NOSPLIT, $0-28
	MOVQ         dst+0(FP), DI
	MOVQ         codes+8(FP), SI
	MOVQ         n+16(FP), CX
	MOVL         code+24(FP), R8
	VPBROADCASTD R8, Z0
	XORQ         AX, AX

equal:
	VPCMPEQD (SI)(AX*4), Z0, K1
	KMOVW    K1, R8
	MOVW     R8, (DI)
	ADDQ     $2, DI
	ADDQ     $16, AX
	CMPQ     AX, CX
	JLT      equal

	VZEROUPPER
	RET

// func atMost8(dst *uint64, x *float64, n int, most float64)
TEXT ·atMost8(SB), NOSPLIT, $0-32
	MOVQ         dst+0(FP), DI
	MOVQ         x+8(FP), SI
	MOVQ         n+16(FP), CX
	VBROADCASTSD most+24(FP), Z0
	XORQ         AX, AX

atMost:
	VMOVUPD (SI)(AX*8), Z10
	VCMPPD  $0x12, Z0, Z10, K1               // at most, and both are numbers
	KMOVB   K1, R8
	MOVB    R8, (DI)
	INCQ    DI
	ADDQ    $8, AX
	CMPQ    AX, CX
	JLT     atMost

	VZEROUPPER
	RET

// func without64(dst *uint64, b *uint8, n int, look uint8)
TEXT ·without64(SB), NOSPLIT, $0-25
	MOVQ         dst+0(FP), DI
	MOVQ         b+8(FP), SI
	MOVQ         n+16(FP), CX
	MOVBLZX      look+24(FP), R8
	VPBROADCASTB R8, Z0
	XORQ         AX, AX

without:
	VMOVDQU8  (SI)(AX*1), Z10
	VPTESTNMB Z0, Z10, K1
	KMOVQ     K1, (DI)
	ADDQ      $8, DI
	ADDQ      $64, AX
	CMPQ      AX, CX
	JLT       without

	VZEROUPPER
	RET

// func set64(b *uint8, where *uint64, n int, bit uint8)
TEXT ·set64(SB), NOSPLIT, $0-25
	MOVQ         b+0(FP), DI
	MOVQ         where+8(FP), SI
	MOVQ         n+16(FP), CX
	MOVBLZX      bit+24(FP), R8
	VPBROADCASTB R8, Z0
	XORQ         AX, AX

set:
	KMOVQ      (SI), K1
	VMOVDQU8.Z Z0, K1, Z10
	VPORQ      (DI)(AX*1), Z10, Z10
	VMOVDQU8   Z10, (DI)(AX*1)
	ADDQ       $8, SI
	ADDQ       $64, AX
	CMPQ       AX, CX
	JLT        set

	VZEROUPPER
	RET

// func above8(dst *uint64, x, y *int64, n int)
TEXT ·above8(SB), NOSPLIT, $0-32
	MOVQ dst+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ y+16(FP), R9
	MOVQ n+24(FP), CX
	XORQ AX, AX

above:
	VMOVDQU64 (SI)(AX*8), Z10
	VPCMPQ    $6, (R9)(AX*8), Z10, K1
	KMOVB     K1, R8
	MOVB      R8, (DI)
	INCQ      DI
	ADDQ      $8, AX
	CMPQ      AX, CX
	JLT       above

	VZEROUPPER
	RET

// func below8(dst *uint64, x *int64, n int, limit int64)
TEXT ·below8(SB), NOSPLIT, $0-32
	MOVQ         dst+0(FP), DI
	MOVQ         x+8(FP), SI
	MOVQ         n+16(FP), CX
	VPBROADCASTQ limit+24(FP), Z0
	XORQ         AX, AX

below:
	VMOVDQU64 (SI)(AX*8), Z10
	VPCMPQ    $1, Z0, Z10, K1
	KMOVB     K1, R8
	MOVB      R8, (DI)
	INCQ      DI
	ADDQ      $8, AX
	CMPQ      AX, CX
	JLT       below

	VZEROUPPER
	RET
