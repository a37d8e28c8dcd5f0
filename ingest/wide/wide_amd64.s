//go:build !purego

#include "textflag.h"
#include "fold_amd64.h"

// In all of them AX counts the values that are done and CX is how many there are.

// func words8(dst *uint64, x *float64, n int, shift, base, width uint64, unit float64) (outside, nan int)
TEXT ·words8(SB), NOSPLIT, $0-72
	MOVQ         dst+0(FP), DI
	MOVQ         x+8(FP), SI
	MOVQ         n+16(FP), CX
	VMOVQ        shift+24(FP), X1
	VPBROADCASTQ base+32(FP), Z2
	VPBROADCASTQ width+40(FP), Z3
	VBROADCASTSD unit+48(FP), Z4
	MOVQ         width+40(FP), R8
	INCQ         R8
	VPBROADCASTQ R8, Z5                      // the bucket of zero
	MOVQ         $0x3FE0000000000000, R8
	VPBROADCASTQ R8, Z6                      // 0.5
	MOVQ         $0xFFE0000000000000, R8
	VPBROADCASTQ R8, Z7                      // infinity, shifted left
	XORQ         AX, AX
	XORQ         R9, R9                      // outside
	XORQ         R10, R10                    // NaN

words:
	VMOVUPD    (SI)(AX*8), Z10
	VMULPD     Z4, Z10, Z11
	VADDPD     Z6, Z11, Z11
	VCVTTPD2QQ Z11, Z11                      // in fixed point
	VPSRLQ     X1, Z10, Z12
	VPSUBQ     Z2, Z12, Z12
	VPMINUQ    Z3, Z12, Z12                  // bucket
	VPCMPEQQ   Z3, Z12, K1
	VPXORQ     Z11, Z11, K1, Z11             // outside: 0 in fixed point
	VPADDQ     Z10, Z10, Z13                 // without sign
	VPTESTNMQ  Z13, Z13, K2                  // zero
	VMOVDQA64  Z5, K2, Z12
	VPCMPUQ    $6, Z7, Z13, K3               // more than infinity
	VPSLLQ     $50, Z12, Z12
	VPORQ      Z11, Z12, Z12
	VMOVDQU64  Z12, (DI)(AX*8)
	KANDNB     K1, K2, K1                    // outside, but zero
	KMOVB      K1, R11
	POPCNTL    R11, R11
	ADDQ       R11, R9
	KMOVB      K3, R12
	POPCNTL    R12, R12
	ADDQ       R12, R10
	ADDQ       $8, AX
	CMPQ       AX, CX
	JLT        words

	MOVQ R9, outside+56(FP)
	MOVQ R10, nan+64(FP)
	VZEROUPPER
	RET

// func coarse8(dst *uint16, x *float64, n int, shift, base, last, coarse uint64)
TEXT ·coarse8(SB), NOSPLIT, $0-56
	MOVQ         dst+0(FP), DI
	MOVQ         x+8(FP), SI
	MOVQ         n+16(FP), CX
	VMOVQ        shift+24(FP), X1
	VPBROADCASTQ base+32(FP), Z2
	VPBROADCASTQ last+40(FP), Z3
	VMOVQ        coarse+48(FP), X4
	XORQ         AX, AX

coarse:
	VMOVDQU64 (SI)(AX*8), Z10
	VPSRLQ    X1, Z10, Z10
	VPSUBQ    Z2, Z10, Z10
	VPMINUQ   Z3, Z10, Z10
	VPSRLQ    X4, Z10, Z10
	VPMOVQW   Z10, (DI)(AX*2)
	ADDQ      $8, AX
	CMPQ      AX, CX
	JLT       coarse

	VZEROUPPER
	RET

DATA ·sixteen+0(SB)/4, $0
DATA ·sixteen+4(SB)/4, $1
DATA ·sixteen+8(SB)/4, $2
DATA ·sixteen+12(SB)/4, $3
DATA ·sixteen+16(SB)/4, $4
DATA ·sixteen+20(SB)/4, $5
DATA ·sixteen+24(SB)/4, $6
DATA ·sixteen+28(SB)/4, $7
DATA ·sixteen+32(SB)/4, $8
DATA ·sixteen+36(SB)/4, $9
DATA ·sixteen+40(SB)/4, $10
DATA ·sixteen+44(SB)/4, $11
DATA ·sixteen+48(SB)/4, $12
DATA ·sixteen+52(SB)/4, $13
DATA ·sixteen+56(SB)/4, $14
DATA ·sixteen+60(SB)/4, $15
GLOBL ·sixteen(SB), RODATA|NOPTR, $64

// func marked16(rows *uint32, lines, at *uint16, n int, marks *uint64, last uint64) int
TEXT ·marked16(SB), NOSPLIT, $0-56
	MOVQ         rows+0(FP), DI
	MOVQ         lines+8(FP), R8
	MOVQ         at+16(FP), R9
	MOVQ         n+24(FP), CX
	MOVQ         marks+32(FP), SI
	VPBROADCASTD last+40(FP), Z2
	MOVL         $1, R10
	VPBROADCASTD R10, Z3
	MOVL         $31, R10
	VPBROADCASTD R10, Z4
	MOVL         $16, R10
	VPBROADCASTD R10, Z5
	VMOVDQU32    ·sixteen(SB), Z6           // i
	XORQ         AX, AX
	XORQ         BX, BX                      // found

marked:
	VPMOVZXWD     (R8)(AX*2), Z9
	VPMOVZXWD     (R9)(AX*2), Z11
	VPSLLD        $9, Z9, Z10
	VPADDD        Z11, Z10, Z10              // bit
	VPSRLD        $5, Z10, Z12               // half-word it is in
	VPMINUD       Z2, Z12, Z12
	KXNORW        K1, K1, K1
	VPXORD        Z13, Z13, Z13
	VPGATHERDD    (SI)(Z12*4), K1, Z13
	VPANDD        Z4, Z10, Z10
	VPSRLVD       Z10, Z13, Z13
	VPTESTMD      Z3, Z13, K2
	VPCOMPRESSD.Z Z6, K2, Z14
	VMOVDQU32     Z14, (DI)(BX*4)
	KMOVW         K2, R11
	POPCNTL       R11, R11
	ADDQ          R11, BX
	VPADDD        Z5, Z6, Z6
	ADDQ          $16, AX
	CMPQ          AX, CX
	JLT           marked

	MOVQ BX, ret+48(FP)
	VZEROUPPER
	RET

// func outside8(dst *uint32, x *float64, n int, shift, base, width uint64) int
TEXT ·outside8(SB), NOSPLIT, $0-56
	MOVQ         dst+0(FP), DI
	MOVQ         x+8(FP), SI
	MOVQ         n+16(FP), CX
	VMOVQ        shift+24(FP), X1
	VPBROADCASTQ base+32(FP), Z2
	VPBROADCASTQ width+40(FP), Z3
	MOVL         $8, R10
	VPBROADCASTD R10, Y5
	VMOVDQU32    ·sixteen(SB), Y6           // i
	XORQ         AX, AX
	XORQ         BX, BX                      // found

outside:
	VMOVDQU64     (SI)(AX*8), Z10
	VPSRLQ        X1, Z10, Z12
	VPSUBQ        Z2, Z12, Z12
	VPCMPUQ       $5, Z3, Z12, K1            // not in the window
	VPADDQ        Z10, Z10, Z13
	VPTESTMQ      Z13, Z13, K1, K2           // nor zero
	VPCOMPRESSD.Z Y6, K2, Y14
	VMOVDQU32     Y14, (DI)(BX*4)
	KMOVB         K2, R11
	POPCNTL       R11, R11
	ADDQ          R11, BX
	VPADDD        Y5, Y6, Y6
	ADDQ          $8, AX
	CMPQ          AX, CX
	JLT           outside

	MOVQ BX, ret+48(FP)
	VZEROUPPER
	RET

// func floats8(dst *float64, x *int64, n int)
TEXT ·floats8(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ n+16(FP), CX
	XORQ AX, AX

floats:
	VCVTQQ2PD (SI)(AX*8), Z10
	VMOVUPD   Z10, (DI)(AX*8)
	ADDQ      $8, AX
	CMPQ      AX, CX
	JLT       floats

	VZEROUPPER
	RET

// func bits8(x *int64, n int) (all, lowest int64)
TEXT ·bits8(SB), NOSPLIT, $0-32
	MOVQ   x+0(FP), SI
	MOVQ   n+8(FP), CX
	VPXORQ Z0, Z0, Z0
	VPXORQ Z1, Z1, Z1
	VPXORQ Z2, Z2, Z2
	XORQ   AX, AX

bits:
	VMOVDQU64 (SI)(AX*8), Z10
	VPORQ     Z10, Z0, Z0
	VPSUBQ    Z10, Z2, Z11
	VPANDQ    Z10, Z11, Z11
	VPORQ     Z11, Z1, Z1
	ADDQ      $8, AX
	CMPQ      AX, CX
	JLT       bits

	FOLD(VPORQ, Z0, Y0, X0)
	VMOVQ         X0, all+16(FP)
	FOLD(VPORQ, Z1, Y1, X1)
	VMOVQ         X1, lowest+24(FP)
	VZEROUPPER
	RET

// func copy8(dst, src *float64, n int) uint64
TEXT ·copy8(SB), NOSPLIT, $0-32
	MOVQ   dst+0(FP), DI
	MOVQ   src+8(FP), SI
	MOVQ   n+16(FP), CX
	VPXORQ Z0, Z0, Z0
	XORQ   AX, AX

copy:
	VMOVDQU64 (SI)(AX*8), Z10
	VMOVDQU64 Z10, (DI)(AX*8)
	VPADDQ    Z10, Z10, Z10
	VPMAXUQ   Z10, Z0, Z0
	ADDQ      $8, AX
	CMPQ      AX, CX
	JLT       copy

	FOLD(VPMAXUQ, Z0, Y0, X0)
	VMOVQ         X0, ret+24(FP)
	VZEROUPPER
	RET

// func most8(x *float64, n int, look uint64) uint64
TEXT ·most8(SB), NOSPLIT, $0-32
	MOVQ         x+0(FP), SI
	MOVQ         n+8(FP), CX
	VPBROADCASTQ look+16(FP), Z2
	VPXORQ       Z0, Z0, Z0
	XORQ         AX, AX

most:
	VPANDQ  (SI)(AX*8), Z2, Z10
	VPMAXUQ Z10, Z0, Z0
	ADDQ    $8, AX
	CMPQ    AX, CX
	JLT     most

	FOLD(VPMAXUQ, Z0, Y0, X0)
	VMOVQ         X0, ret+24(FP)
	VZEROUPPER
	RET

// func ratios8(dst, x *float64, by *int64, n int)
TEXT ·ratios8(SB), NOSPLIT, $0-32
	MOVQ dst+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ by+16(FP), R8
	MOVQ n+24(FP), CX
	XORQ AX, AX

ratios:
	VMOVUPD   (SI)(AX*8), Z10
	VCVTQQ2PD (R8)(AX*8), Z11
	VDIVPD    Z11, Z10, Z10
	VMOVUPD   Z10, (DI)(AX*8)
	ADDQ      $8, AX
	CMPQ      AX, CX
	JLT       ratios

	VZEROUPPER
	RET

// func quotients8(dst *float64, b *byte, n int, div float64)
TEXT ·quotients8(SB), NOSPLIT, $0-32
	MOVQ         dst+0(FP), DI
	MOVQ         b+8(FP), SI
	MOVQ         n+16(FP), CX
	VBROADCASTSD div+24(FP), Z2
	XORQ         AX, AX

quotients:
	VMOVUPD (SI)(AX*8), Z10
	VDIVPD  Z2, Z10, Z10
	VMOVUPD Z10, (DI)(AX*8)
	ADDQ    $8, AX
	CMPQ    AX, CX
	JLT     quotients

	VZEROUPPER
	RET

// func tally8(counts *uint8, words *uint64, rows *uint32, n int, lastCount, lastWord uint64, full *[64]uint16, sum, lo, hi *uint64) (done, found int)
TEXT ·tally8(SB), NOSPLIT, $0-96
	MOVQ         counts+0(FP), DI
	MOVQ         words+8(FP), SI
	MOVQ         rows+16(FP), DX
	MOVQ         n+24(FP), CX
	VPBROADCASTQ lastCount+32(FP), Z4
	VPBROADCASTD lastWord+40(FP), Y5
	MOVQ         full+48(FP), R8
	MOVQ         $0x3FFFFFFFFFFFF, R9
	VPBROADCASTQ R9, Z3
	VPXORQ       Z0, Z0, Z0                  // sum
	VPXORQ       Z1, Z1, Z1                  // of lower bits
	VPXORQ       Z2, Z2, Z2                  // of upper bits
	XORQ         AX, AX
	XORQ         BX, BX                      // found

tally:
	VPMINUD     (DX)(AX*4), Y5, Y10
	KXNORB      K1, K1, K1
	VPXORQ      Z11, Z11, Z11
	VPGATHERDQ  (SI)(Y10*8), K1, Z11
	VPSRLQ      $50, Z11, Z12
	VPMINUQ     Z4, Z12, Z12
	VPMOVQW     Z12, X12
	VPANDQ      Z3, Z11, Z11
	VPADDQ      Z11, Z0, Z0
	VPMADD52LUQ Z11, Z11, Z1
	VPMADD52HUQ Z11, Z11, Z2
	VMOVQ       X12, R11
	VPEXTRQ     $1, X12, R12
	MOVWLZX R11, R9
	SHRQ    $16, R11
	INCB    (DI)(R9*1)
	JEQ     over0

counted0:
	MOVWLZX R11, R9
	SHRQ    $16, R11
	INCB    (DI)(R9*1)
	JEQ     over1

counted1:
	MOVWLZX R11, R9
	SHRQ    $16, R11
	INCB    (DI)(R9*1)
	JEQ     over2

counted2:
	MOVWLZX R11, R9
	INCB    (DI)(R9*1)
	JEQ     over3

counted3:
	MOVWLZX R12, R9
	SHRQ    $16, R12
	INCB    (DI)(R9*1)
	JEQ     over4

counted4:
	MOVWLZX R12, R9
	SHRQ    $16, R12
	INCB    (DI)(R9*1)
	JEQ     over5

counted5:
	MOVWLZX R12, R9
	SHRQ    $16, R12
	INCB    (DI)(R9*1)
	JEQ     over6

counted6:
	MOVWLZX R12, R9
	INCB    (DI)(R9*1)
	JEQ     over7

counted7:
	ADDQ $8, AX
	CMPQ AX, CX
	JGE  tallied
	CMPQ BX, $56
	JLE  tally

tallied:
	MOVQ          $0xFFFFFFFFFFFFF, R9
	VPBROADCASTQ  R9, Z11
	VPSRLQ        $52, Z1, Z12               // so that eight of them add up to less than 2^64
	VPADDQ        Z12, Z2, Z2
	VPANDQ        Z11, Z1, Z1
	FOLD(VPADDQ, Z0, Y0, X0)
	VMOVQ         X0, R9
	MOVQ          sum+56(FP), R10
	ADDQ          R9, (R10)
	FOLD(VPADDQ, Z1, Y1, X1)
	VMOVQ         X1, R9
	MOVQ          lo+64(FP), R10
	ADDQ          R9, (R10)
	FOLD(VPADDQ, Z2, Y2, X2)
	VMOVQ         X2, R9
	MOVQ          hi+72(FP), R10
	ADDQ          R9, (R10)
	MOVQ          AX, done+80(FP)
	MOVQ          BX, found+88(FP)
	VZEROUPPER
	RET

over0:
	MOVW R9, (R8)(BX*2)
	INCQ BX
	JMP  counted0

over1:
	MOVW R9, (R8)(BX*2)
	INCQ BX
	JMP  counted1

over2:
	MOVW R9, (R8)(BX*2)
	INCQ BX
	JMP  counted2

over3:
	MOVW R9, (R8)(BX*2)
	INCQ BX
	JMP  counted3

over4:
	MOVW R9, (R8)(BX*2)
	INCQ BX
	JMP  counted4

over5:
	MOVW R9, (R8)(BX*2)
	INCQ BX
	JMP  counted5

over6:
	MOVW R9, (R8)(BX*2)
	INCQ BX
	JMP  counted6

over7:
	MOVW R9, (R8)(BX*2)
	INCQ BX
	JMP  counted7
