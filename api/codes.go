package api

// CodeInfo says what a code means and what a client does about it.
type CodeInfo struct {
	Code  Code
	Means string
	Do    string
}

// Codes is the table of all codes, in the order of the documentation, which is made of
// it (docs/errors.md).
var Codes = []CodeInfo{
	{CodeBadRequest, "An argument or a setting is missing, unknown or outside its range. Nothing was done.", "Correct what the message names and call again."},
	{CodeUnknownSession, "No session has this id.", "Use the id that start_computer returned, or call start_computer."},
	{CodeSessionEnded, "The session has ended; the message says when and why.", "Call start_computer again. Files are still there."},
	{CodeNoFreeScreen, "All 16 screens are in use.", "End a session that is not needed, then try again."},
	{CodeHumanInControl, "A person works the screen, so actions are refused or were stopped.", "Observe, and act again when human.in_control is false."},
	{CodeLoopRefused, "The same batch has run several times in a row without any effect on the screen.", "Look at the screen and do something else."},
	{CodeScreenFailed, "The screen could not be captured or worked. It repairs itself.", "Observe again in a few seconds. Programs may be gone; a note says so."},
	{CodeBusy, "Something that can only be done once at a time is being done.", "Wait for it, then try again."},
	{CodeTimeout, "It took longer than it may.", "Look at what has happened, then try again or wait with computer_wait."},
	{CodeCanceled, "The client cancelled the call, or the server is closing. What was pressed is released.", "Look at what was done before you go on."},
	{CodeTooLarge, "The request or the result is larger than what is accepted.", "Ask for less at once."},
	{CodeNotFound, "A file, program, job or route does not exist.", "Check the name."},
	{CodeExists, "There is something at the path already.", "Choose another path, or say that it may be replaced."},
	{CodeNotAFolder, "The path is not a folder.", "Give the path of a folder."},
	{CodeIsAFolder, "The path is a folder.", "Give the path of a file."},
	{CodePermissionDenied, "The computer's user may not do this, or the token is wrong.", "Choose another path. A wrong token is for the user to solve: restart the server."},
	{CodeUnsupported, "It cannot be done with this content, program or engine.", "Use another way; the message names one if there is any."},
	{CodeDisabledTool, "The user has switched this tool off.", "Work without it, or ask the user."},
	{CodeEngineUnavailable, "The engine that runs the computer, or the computer's daemon, does not answer.", "Call start_computer. If that fails too, the user has to start or repair the engine."},
	{CodeImageMissing, "The computer's container image is not there and could not be fetched.", "The user has to make it available; the message says how."},
	{CodePortTaken, "A port that the computer needs is used by something else.", "The user has to free it or choose another port base."},
	{CodeComputerStopped, "The computer has stopped or is stopping, and its sessions have ended.", "Call start_computer again."},
	{CodeComputerMismatch, "What answers is another computer, or has another home, than the one that was started.", "Call start_computer again."},
	{CodeVersionMismatch, "The server and the computer are of versions that do not go together.", "The user has to update one of them; the message says which."},
	{CodeInternal, "A fault of the product, not of the call.", "Other calls still work. Report it."},
}
