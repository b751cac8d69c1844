// Package encode turns pixels into the bytes of RFB rectangles (RFC 6143 section 7.7
// and the community's registry). It is pure: nothing here does I/O, starts a
// goroutine or knows a connection.
//
// An update takes three steps:
//
//  1. [Planner.Plan] compares the picture that viewers have with the next one and
//     finds few operations that lead from one to the other: exact [Copy]
//     operations for what scrolled or was dragged, and rectangles for the rest.
//  2. [Encoder.Encode] appends rectangles to a [Batch], in the pixel format and
//     encoding of its [Settings]. What a part of the picture looks like (one colour,
//     drawn, a photo) decides how it is sent. A Batch belongs to no connection: made
//     with Settings.Shared it serves every viewer with equal Settings.
//  3. [Streams.Append] appends a Batch to the bytes of one connection. Streams is
//     the zlib state that a connection shares with its viewer.
//
// # Shared chunks and own streams
//
// ZRLE, Zlib and Tight keep zlib streams open for as long as the connection
// lives. With Settings.Shared the compressed data of a Batch are raw deflate chunks
// that refer to nothing before the Batch and end with a sync flush. They may be
// spliced into any open stream, so one encoding serves any number of viewers.
// Without Settings.Shared a Batch holds the data uncompressed, and Streams.Append
// compresses them with the connection's own history: fewer bytes for small changes
// that resemble earlier ones (a typed letter takes 85 bytes instead of 180), but
// work for each viewer. A connection may go from one to the other with any Batch;
// Streams forgets the history that a spliced chunk made useless.
//
// # Whose pixels a plan starts from
//
// A plan with copies is right only for a viewer that shows exactly the plan's
// starting picture. Keep one picture of a screen, not one for each viewer: "shown",
// the picture of the last plan. Under the frame's read lock, Plan leads from it to
// the frame's pixels and makes it equal to them; encode from it then, without the
// lock. A viewer whose last Stamp is the Stamp that shown had before the plan follows
// the plan. Any other viewer is a step behind: it gets [Planner.Cover] of the cells
// that are newer than its own Stamp, without copies, and is in step afterwards. So a
// slow viewer costs its own bytes and, while it is being sent an older picture, that
// picture.
//
// What a viewer holds of a JPEG rectangle is not what shown holds. The connection
// keeps the lossy cells in a set: [Batch.Mark] tells which cells a batch made lossy
// or exact, [Copy.Carry] moves them along with a copy.
//
// # Three-byte pixels
//
// Two encodings shorten 32-bit pixels to three bytes and do it differently: ZRLE's
// CPIXEL drops the unused byte and keeps the order of the pixel format, Tight's
// TPIXEL is always red, green, blue.
package encode
