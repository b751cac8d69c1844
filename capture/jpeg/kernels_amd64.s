#include "go_asm.h"
#include "textflag.h"

// func convertAVX2(y, cb, cr *int16, src *uint32, n int)
//
// A pixel is a 32-bit lane 0x00RRGGBB. Seen as two 16-bit numbers, its even bytes
// are (blue, red) and its odd bytes are (green, unused): VPMADDWD multiplies both
// numbers of a lane and adds the products.
TEXT ·convertAVX2(SB), NOSPLIT, $0-40
	MOVQ y+0(FP), DI
	MOVQ cb+8(FP), R8
	MOVQ cr+16(FP), R9
	MOVQ src+24(FP), SI
	MOVQ n+32(FP), CX
	VPBROADCASTD ·matrix+0(SB), Y7
	VPBROADCASTD ·matrix+4(SB), Y8
	VPBROADCASTD ·matrix+8(SB), Y9
	VPBROADCASTD ·matrix+12(SB), Y10
	VPBROADCASTD ·matrix+16(SB), Y11
	VPBROADCASTD ·matrix+20(SB), Y12 // also the bias of cr
	VPBROADCASTD ·matrix+24(SB), Y13
	VPBROADCASTD ·matrix+28(SB), Y14
	VPCMPEQW Y15, Y15, Y15
	VPSRLW $8, Y15, Y15 // 0x00ff00ff

// PLANE makes 16 samples from the pixels in Y0, Y1 (blue, red) and Y2, Y3 (green).
#define PLANE(bluered, green, bias, dst) \
	VPMADDWD bluered, Y0, Y4; \
	VPMADDWD green, Y2, Y5; \
	VPADDD Y5, Y4, Y4; \
	VPADDD bias, Y4, Y4; \
	VPSRAD $const_matrixBits, Y4, Y4; \
	VPMADDWD bluered, Y1, Y5; \
	VPMADDWD green, Y3, Y6; \
	VPADDD Y6, Y5, Y5; \
	VPADDD bias, Y5, Y5; \
	VPSRAD $const_matrixBits, Y5, Y5; \
	VPACKSSDW Y5, Y4, Y4; \
	VPERMQ $0xd8, Y4, Y4; \ // packing works on halves of a register
	VMOVDQU Y4, dst

convertLoop:
	VMOVDQU (SI), Y2
	VMOVDQU 32(SI), Y3
	VPAND Y15, Y2, Y0
	VPAND Y15, Y3, Y1
	VPSRLW $8, Y2, Y2 // green, and the unused byte where the factor is 0
	VPSRLW $8, Y3, Y3
	PLANE(Y7, Y8, Y9, (DI))
	PLANE(Y10, Y11, Y12, (R8))
	PLANE(Y13, Y14, Y12, (R9))
	ADDQ $64, SI
	ADDQ $32, DI
	ADDQ $32, R8
	ADDQ $32, R9
	SUBQ $16, CX
	JNZ convertLoop
	VZEROUPPER
	RET

// func halveAVX2(dst, above, below *int16, n int)
TEXT ·halveAVX2(SB), NOSPLIT, $0-32
	MOVQ dst+0(FP), DI
	MOVQ above+8(FP), SI
	MOVQ below+16(FP), DX
	MOVQ n+24(FP), CX
	VPCMPEQW Y15, Y15, Y15
	VPSRLW $15, Y15, Y15 // 1 in 16-bit lanes, to add neighbours
	VPCMPEQW Y14, Y14, Y14
	VPSRLD $31, Y14, Y14
	VPSLLD $1, Y14, Y14 // 2 in 32-bit lanes, to round

halveLoop:
	VMOVDQU (SI), Y0
	VMOVDQU 32(SI), Y1
	VPADDW (DX), Y0, Y0
	VPADDW 32(DX), Y1, Y1
	VPMADDWD Y15, Y0, Y0
	VPMADDWD Y15, Y1, Y1
	VPADDD Y14, Y0, Y0
	VPADDD Y14, Y1, Y1
	VPSRAD $2, Y0, Y0
	VPSRAD $2, Y1, Y1
	VPACKSSDW Y1, Y0, Y0
	VPERMQ $0xd8, Y0, Y0
	VMOVDQU Y0, (DI)
	ADDQ $64, SI
	ADDQ $64, DX
	ADDQ $32, DI
	SUBQ $16, CX
	JNZ halveLoop
	VZEROUPPER
	RET

// PASS is the function pass on the registers s0 to s7, in place. t0 to t7 are lost.
#define PASS(s0, s1, s2, s3, s4, s5, s6, s7, t0, t1, t2, t3, t4, t5, t6, t7) \
	VPADDW s7, s0, t0; \ // sums
	VPADDW s6, s1, t2; \
	VPADDW s5, s2, t4; \
	VPADDW s4, s3, t6; \
	VPSUBW s7, s0, t1; \ // differences
	VPSUBW s6, s1, t3; \
	VPSUBW s5, s2, t5; \
	VPSUBW s4, s3, t7; \
	VPADDW t6, t0, s0; \ // even0
	VPSUBW t6, t0, s3; \ // even3
	VPADDW t4, t2, s1; \ // even1
	VPSUBW t4, t2, s2; \ // even2
	VPSUBW s1, s0, s4; \
	VPADDW s1, s0, s0; \
	VPADDW s3, s2, s2; \
	VPMULHRSW ·factors+0(SB), s2, s5; \ // turn
	VPADDW s5, s3, s2; \
	VPSUBW s5, s3, s6; \
	VPADDW t5, t7, t0; \ // odd0
	VPADDW t3, t5, t2; \ // odd1
	VPADDW t1, t3, t4; \ // odd2
	VPSUBW t4, t0, t6; \
	VPMULHRSW ·factors+32(SB), t6, t6; \ // both
	VPMULHRSW ·factors+64(SB), t0, t0; \
	VPADDW t6, t0, t0; \ // low
	VPMULHRSW ·factors+96(SB), t4, s1; \
	VPADDW t4, s1, s1; \
	VPADDW t6, s1, s1; \ // high
	VPMULHRSW ·factors+0(SB), t2, t2; \ // middle
	VPADDW t2, t1, t3; \ // up
	VPSUBW t2, t1, t5; \ // down
	VPADDW t0, t5, s5; \
	VPSUBW t0, t5, s3; \
	VPSUBW s1, t3, s7; \
	VPADDW s1, t3, s1

// QUANTISE divides row i of the coefficients of two blocks, in the register pair
// y, x, and stores it in both.
#define QUANTISE(y, x, i) \
	VPABSW y, Y0; \
	VBROADCASTI128 (quantiser_half+16*i)(DX), Y1; \
	VPADDW Y1, Y0, Y0; \
	VPADDW Y0, Y0, Y0; \
	VBROADCASTI128 (quantiser_reciprocal+16*i)(DX), Y1; \
	VPMULHUW Y1, Y0, Y0; \
	VBROADCASTI128 (quantiser_shift+16*i)(DX), Y1; \
	VPMULHUW Y1, Y0, Y0; \
	VPSIGNW y, Y0, y; \
	VMOVDQU x, (block_coef+16*i)(DI); \
	VEXTRACTI128 $1, y, (block__size+block_coef+16*i)(DI)

// NONZERO stores the bits of rows i and i+1, in a and b, of both blocks. Y7 is 0.
#define NONZERO(a, b, i) \
	VPACKSSWB b, a, Y0; \
	VPCMPEQB Y7, Y0, Y0; \
	VPMOVMSKB Y0, AX; \
	NOTL AX; \
	MOVW AX, (block_nonzero+i)(DI); \
	SHRL $16, AX; \
	MOVW AX, (block__size+block_nonzero+i)(DI)

// func transformAVX2(blocks *block, plane *int16, n int, q *quantiser)
//
// A register holds a row of 8 samples of two neighbouring blocks, one in each half.
// The first pass works on columns, the second, after a transposition, on rows.
TEXT ·transformAVX2(SB), NOSPLIT, $0-32
	MOVQ blocks+0(FP), DI
	MOVQ plane+8(FP), SI
	MOVQ n+16(FP), CX
	MOVQ q+24(FP), DX
	MOVQ CX, R8
	SHLQ $4, R8 // bytes in a row of the plane
	LEAQ (R8)(R8*2), R9

transformLoop:
	LEAQ (SI)(R8*4), R10
	VMOVDQU (SI), Y0
	VMOVDQU (SI)(R8*1), Y1
	VMOVDQU (SI)(R8*2), Y2
	VMOVDQU (SI)(R9*1), Y3
	VMOVDQU (R10), Y4
	VMOVDQU (R10)(R8*1), Y5
	VMOVDQU (R10)(R8*2), Y6
	VMOVDQU (R10)(R9*1), Y7
	VPSLLW $const_inputBits, Y0, Y0
	VPSLLW $const_inputBits, Y1, Y1
	VPSLLW $const_inputBits, Y2, Y2
	VPSLLW $const_inputBits, Y3, Y3
	VPSLLW $const_inputBits, Y4, Y4
	VPSLLW $const_inputBits, Y5, Y5
	VPSLLW $const_inputBits, Y6, Y6
	VPSLLW $const_inputBits, Y7, Y7
	PASS(Y0, Y1, Y2, Y3, Y4, Y5, Y6, Y7, Y8, Y9, Y10, Y11, Y12, Y13, Y14, Y15)

	VPCMPEQW Y8, Y8, Y8
	VPSRLW $15, Y8, Y8
	VPSLLW $(const_betweenBits-1), Y8, Y8
#define ROUND(r) VPADDW Y8, r, r; VPSRAW $const_betweenBits, r, r
	ROUND(Y0)
	ROUND(Y1)
	ROUND(Y2)
	ROUND(Y3)
	ROUND(Y4)
	ROUND(Y5)
	ROUND(Y6)
	ROUND(Y7)

	// Transpose: interleave rows by 16, then 32, then 64 bits.
	VPUNPCKLWD Y1, Y0, Y8
	VPUNPCKHWD Y1, Y0, Y9
	VPUNPCKLWD Y3, Y2, Y10
	VPUNPCKHWD Y3, Y2, Y11
	VPUNPCKLWD Y5, Y4, Y12
	VPUNPCKHWD Y5, Y4, Y13
	VPUNPCKLWD Y7, Y6, Y14
	VPUNPCKHWD Y7, Y6, Y15
	VPUNPCKLDQ Y10, Y8, Y0
	VPUNPCKHDQ Y10, Y8, Y1
	VPUNPCKLDQ Y11, Y9, Y2
	VPUNPCKHDQ Y11, Y9, Y3
	VPUNPCKLDQ Y14, Y12, Y4
	VPUNPCKHDQ Y14, Y12, Y5
	VPUNPCKLDQ Y15, Y13, Y6
	VPUNPCKHDQ Y15, Y13, Y7
	VPUNPCKLQDQ Y4, Y0, Y8
	VPUNPCKHQDQ Y4, Y0, Y9
	VPUNPCKLQDQ Y5, Y1, Y10
	VPUNPCKHQDQ Y5, Y1, Y11
	VPUNPCKLQDQ Y6, Y2, Y12
	VPUNPCKHQDQ Y6, Y2, Y13
	VPUNPCKLQDQ Y7, Y3, Y14
	VPUNPCKHQDQ Y7, Y3, Y15
	PASS(Y8, Y9, Y10, Y11, Y12, Y13, Y14, Y15, Y0, Y1, Y2, Y3, Y4, Y5, Y6, Y7)

	QUANTISE(Y8, X8, 0)
	QUANTISE(Y9, X9, 1)
	QUANTISE(Y10, X10, 2)
	QUANTISE(Y11, X11, 3)
	QUANTISE(Y12, X12, 4)
	QUANTISE(Y13, X13, 5)
	QUANTISE(Y14, X14, 6)
	QUANTISE(Y15, X15, 7)
	VPXOR Y7, Y7, Y7
	NONZERO(Y8, Y9, 0)
	NONZERO(Y10, Y11, 2)
	NONZERO(Y12, Y13, 4)
	NONZERO(Y14, Y15, 6)

	ADDQ $32, SI
	ADDQ $(2*block__size), DI
	SUBQ $2, CX
	JNZ transformLoop
	VZEROUPPER
	RET
