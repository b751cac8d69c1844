package rfb

import (
	"crypto/des"
	"crypto/subtle"
	"math/bits"
)

const challengeSize = 16

// vncResponse is the answer to a challenge that proves the password (RFC 6143
// section 7.2.2): the challenge encrypted with DES, the password being the key. Only
// eight bytes of the password count, and the bits of each are taken in reverse.
func vncResponse(password string, challenge [challengeSize]byte) (response [challengeSize]byte) {
	var key [8]byte
	copy(key[:], password)
	for i, b := range key {
		key[i] = bits.Reverse8(b)
	}
	cipher, err := des.NewCipher(key[:])
	if err != nil {
		panic(err) // the key has the right length
	}
	cipher.Encrypt(response[:8], challenge[:8])
	cipher.Encrypt(response[8:], challenge[8:])
	return response
}

// rightResponse tells, in constant time, whether a response proves the password.
// An empty password is never proved.
func rightResponse(password string, challenge, response [challengeSize]byte) bool {
	want := vncResponse(password, challenge)
	return subtle.ConstantTimeCompare(want[:], response[:]) == 1 && password != ""
}
