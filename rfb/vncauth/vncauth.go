// Package vncauth is the cipher of VNC passwords, which is DES in a way of VNC's own: the
// server, programs that prove a password to one, and files that hold a password need it.
package vncauth

import (
	"crypto/des"
	"math/bits"
)

// ChallengeSize is the length of a challenge and of the answer to it, in bytes.
const ChallengeSize = 16

// Answer returns what proves the password to whoever sent the challenge (RFC 6143 section
// 7.2.2). Only the first eight bytes of a password count.
func Answer(password string, challenge [ChallengeSize]byte) [ChallengeSize]byte {
	encrypt(password, challenge[:])
	return challenge
}

// fileKey encrypts the files of passwords. Every VNC program knows it.
const fileKey = "\x17\x52\x6b\x06\x23\x4e\x58\x07"

// File returns the content of the file that VNC programs read a password from, of which
// the first eight bytes count. It hides nothing; the file's mode has to.
func File(password string) []byte {
	block := make([]byte, des.BlockSize)
	copy(block, password)
	encrypt(fileKey, block)
	return block
}

// encrypt encrypts whole blocks in their place. The bits of each byte of the key are taken
// the other way round.
func encrypt(key string, blocks []byte) {
	var reversed [des.BlockSize]byte
	copy(reversed[:], key)
	for i, b := range reversed {
		reversed[i] = bits.Reverse8(b)
	}
	cipher, err := des.NewCipher(reversed[:])
	if err != nil {
		panic(err) // the key has the right length
	}
	for ; len(blocks) > 0; blocks = blocks[des.BlockSize:] {
		cipher.Encrypt(blocks, blocks[:des.BlockSize])
	}
}
