//go:build !purego

#include "textflag.h"
#include "fold_amd64.h"

// In all of them AX counts the rows that are done and CX is how many there are.

// func addLevels16(dst *uint32, codes *int32, n int, add *uint32, size uint64) (seen uint32, ok bool)
TEXT ·addLevels16(SB), NOSPLIT, $0-45
	MOVQ         dst+0(FP), DI
	MOVQ         codes+8(FP), R8
	MOVQ         n+16(FP), CX
	MOVQ         add+24(FP), SI
	MOVQ         size+32(FP), R9
	VPBROADCASTD R9, Z2
	DECQ         R9
	VPBROADCASTD R9, Z3
	MOVL         $1, R9
	VPBROADCASTD R9, Z4
	VPXORD       Z0, Z0, Z0                  // seen
	KXORW        K3, K3, K3                  // codes that have none
	XORQ         AX, AX

levels:
	VPADDD     (R8)(AX*4), Z4, Z10
	VPCMPUD    $5, Z2, Z10, K2
	KORW       K2, K3, K3
	VPMINUD    Z3, Z10, Z10
	KXNORW     K1, K1, K1
	VPXORD     Z11, Z11, Z11
	VPGATHERDD (SI)(Z10*4), K1, Z11
	VPORD      Z11, Z0, Z0
	VPADDD     (DI)(AX*4), Z11, Z11
	VMOVDQU32  Z11, (DI)(AX*4)
	ADDQ       $16, AX
	CMPQ       AX, CX
	JLT        levels

	FOLD(VPORD, Z0, Y0, X0)
	VPSRLDQ       $4, X0, X10
	VPORD         X10, X0, X0
	VMOVD         X0, R9
	MOVL          R9, seen+40(FP)
	KTESTW        K3, K3
	SETEQ         ok+44(FP)
	VZEROUPPER
	RET

// func find16(dst, keys *uint32, n int, table *uint32, last uint64) (done int)
TEXT ·find16(SB), NOSPLIT, $0-48
	MOVQ         dst+0(FP), DI
	MOVQ         keys+8(FP), R8
	MOVQ         n+16(FP), CX
	MOVQ         table+24(FP), SI
	VPBROADCASTD last+32(FP), Z3
	MOVL         $1, R9
	VPBROADCASTD R9, Z4
	XORQ         AX, AX

find:
	VPMINUD    (R8)(AX*4), Z3, Z10
	KXNORW     K1, K1, K1
	VPXORD     Z11, Z11, Z11
	VPGATHERDD (SI)(Z10*4), K1, Z11
	VPTESTNMD  Z11, Z11, K2
	KTESTW     K2, K2
	JNE        found
	VPSUBD     Z4, Z11, Z11
	VMOVDQU32  Z11, (DI)(AX*4)
	ADDQ       $16, AX
	CMPQ       AX, CX
	JLT        find

found:
	MOVQ AX, done+40(FP)
	VZEROUPPER
	RET

// func settle16(dst *uint16, leaves *uint32, state *uint8, n int, look uint64, slots *uint32, last uint64) (done int)
TEXT ·settle16(SB), NOSPLIT, $0-64
	MOVQ         dst+0(FP), DI
	MOVQ         leaves+8(FP), R8
	MOVQ         state+16(FP), R9
	MOVQ         n+24(FP), CX
	VPBROADCASTD look+32(FP), Z2
	MOVQ         slots+40(FP), SI
	VPBROADCASTD last+48(FP), Z3
	XORQ         AX, AX

settle:
	VPMINUD     (R8)(AX*4), Z3, Z10
	KXNORW      K1, K1, K1
	VPXORD      Z11, Z11, Z11
	VPGATHERDD  (SI)(Z10*4), K1, Z11
	VPMOVZXBD   (R9)(AX*1), Z12
	VPTESTNMD   Z2, Z12, K2
	VPTESTNMD   Z11, Z11, K2, K3             // missing
	KTESTW      K3, K3
	JNE         settled
	VMOVDQA32.Z Z11, K2, Z11
	VPMOVDW     Z11, (DI)(AX*2)
	ADDQ        $16, AX
	CMPQ        AX, CX
	JLT         settle

settled:
	MOVQ AX, done+56(FP)
	VZEROUPPER
	RET

// func wanted8(rows, at *uint32, n int, lines *uint16, x *float64, lastRow, shift, base, width, stride uint64, set *uint64, last uint64) int
TEXT ·wanted8(SB), NOSPLIT, $0-104
	MOVQ         rows+0(FP), DI
	MOVQ         at+8(FP), DX
	MOVQ         n+16(FP), CX
	MOVQ         lines+24(FP), R8
	MOVQ         x+32(FP), R9
	VPBROADCASTD lastRow+40(FP), Y0
	VMOVQ        shift+48(FP), X1
	VPBROADCASTQ base+56(FP), Z2
	VPBROADCASTQ width+64(FP), Z3
	VPBROADCASTD stride+72(FP), Y4
	MOVQ         set+80(FP), SI
	VPBROADCASTD last+88(FP), Y5
	MOVL         $1, R10
	VPBROADCASTD R10, Y6
	MOVL         $31, R10
	VPBROADCASTD R10, Y7
	MOVL         $0xFFFF, R10
	VPBROADCASTD R10, Y8
	XORQ         AX, AX
	XORQ         BX, BX                      // found

wanted:
	VMOVDQU32     (DI)(AX*4), Y9
	VPMINUD       Y0, Y9, Y14               // what ascends is less
	KXNORB        K1, K1, K1
	VPXORQ        Z10, Z10, Z10
	VPGATHERDQ    (R9)(Y14*8), K1, Z10
	VPSRLQ        X1, Z10, Z10
	VPSUBQ        Z2, Z10, Z10
	VPMINUQ       Z3, Z10, Z10               // bucket
	VPMOVQD       Z10, Y10
	KXNORB        K1, K1, K1
	VPXORD        Y11, Y11, Y11
	VPGATHERDD    (R8)(Y14*2), K1, Y11       // its line, and the next one's above it
	VPANDD        Y8, Y11, Y11
	VPMULLD       Y4, Y11, Y11
	VPADDD        Y11, Y10, Y10              // bit
	VPSRLD        $5, Y10, Y12               // half-word it is in
	VPMINUD       Y5, Y12, Y12
	KXNORB        K1, K1, K1
	VPXORD        Y13, Y13, Y13
	VPGATHERDD    (SI)(Y12*4), K1, Y13
	VPANDD        Y7, Y10, Y14
	VPSRLVD       Y14, Y13, Y13
	VPTESTMD      Y6, Y13, K2
	VPCOMPRESSD.Z Y9, K2, Y14
	VMOVDQU32     Y14, (DI)(BX*4)
	VPCOMPRESSD.Z Y10, K2, Y14
	VMOVDQU32     Y14, (DX)(BX*4)
	KMOVB         K2, R11
	POPCNTL       R11, R11
	ADDQ          R11, BX
	ADDQ          $8, AX
	CMPQ          AX, CX
	JLT           wanted

	MOVQ BX, ret+96(FP)
	VZEROUPPER
	RET

// func buckets8(dst *int32, x *int64, n int, bounds *int64, m int)
TEXT ·buckets8(SB), NOSPLIT, $0-40
	MOVQ       dst+0(FP), DI
	MOVQ       x+8(FP), SI
	MOVQ       n+16(FP), CX
	MOVQ       bounds+24(FP), R8
	MOVQ       m+32(FP), R9
	VPTERNLOGQ $0xFF, Z0, Z0, Z0             // -1
	VPXORQ     Z1, Z1, Z1
	XORQ       AX, AX

buckets:
	VMOVDQU64 (SI)(AX*8), Z10
	VPXORQ    Z11, Z11, Z11
	XORQ      BX, BX

bounds:
	VPCMPQ.BCST $5, (R8)(BX*8), Z10, K1      // not below the bound
	VPSUBQ      Z0, Z11, K1, Z11
	INCQ        BX
	CMPQ        BX, R9
	JLT         bounds

	VPCMPQ    $1, Z1, Z10, K1                // below zero
	VMOVDQA64 Z0, K1, Z11
	VPMOVQD   Z11, (DI)(AX*4)
	ADDQ      $8, AX
	CMPQ      AX, CX
	JLT       buckets

	VZEROUPPER
	RET

// func shares8(dst *int32, part, whole *int64, n int, limit float64)
TEXT ·shares8(SB), NOSPLIT, $0-40
	MOVQ         dst+0(FP), DI
	MOVQ         part+8(FP), SI
	MOVQ         whole+16(FP), R8
	MOVQ         n+24(FP), CX
	VBROADCASTSD limit+32(FP), Z2
	VPTERNLOGQ   $0xFF, Z0, Z0, Z0           // -1
	VPXORQ       Z1, Z1, Z1
	VPSUBQ       Z0, Z1, Z3                  // 1
	VPADDQ       Z3, Z3, Z4                  // 2
	XORQ         AX, AX

shares:
	VMOVDQU64 (SI)(AX*8), Z10
	VMOVDQU64 (R8)(AX*8), Z11
	VCVTQQ2PD Z10, Z12
	VCVTQQ2PD Z11, Z13
	VDIVPD    Z13, Z12, Z12
	VCMPPD    $0x1D, Z2, Z12, K1             // not below the limit, and both are numbers
	VMOVDQA64 Z3, Z14
	VMOVDQA64 Z4, K1, Z14
	VPCMPQ    $6, Z11, Z10, K2               // more than the whole
	VPCMPQ    $1, Z1, Z10, K3                // below zero
	KORB      K2, K3, K2
	VMOVDQA64 Z0, K2, Z14
	VPTESTNMQ Z10, Z10, K2
	VMOVDQA64 Z1, K2, Z14
	VPMOVQD   Z14, (DI)(AX*4)
	ADDQ      $8, AX
	CMPQ      AX, CX
	JLT       shares

	VZEROUPPER
	RET

// func narrow32(dst *uint8, x *uint16, n int)
TEXT ·narrow32(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ n+16(FP), CX
	XORQ AX, AX

narrow:
	VMOVDQU16 (SI)(AX*2), Z10
	VPMOVWB   Z10, (DI)(AX*1)
	ADDQ      $32, AX
	CMPQ      AX, CX
	JLT       narrow

	VZEROUPPER
	RET

// func widen32(dst *uint16, x *uint8, n int)
TEXT ·widen32(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ n+16(FP), CX
	XORQ AX, AX

widen:
	VPMOVZXBW (SI)(AX*1), Z10
	VMOVDQU16 Z10, (DI)(AX*2)
	ADDQ      $32, AX
	CMPQ      AX, CX
	JLT       widen

	VZEROUPPER
	RET
