/* A viewer made of libvncclient, for the tests. It connects to argv[1] (host:port)
 * with the password argv[2] and the encodings argv[3], and keeps the picture. On
 * standard input it takes one command a line:
 *
 *	dump PATH	write width, height and the pixels (little-endian numbers) to PATH
 *	key SYM		press and release a key
 *	click X Y	click with button 1
 *
 * Each command is answered with a line on standard output. */
#include <poll.h>
#include <rfb/rfbclient.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *password;

static char *get_password(rfbClient *client) { return strdup(password); }

static void dump(rfbClient *client, const char *path)
{
	uint32_t size[2] = {client->width, client->height};
	FILE *f = fopen(path, "wb");
	fwrite(size, sizeof size, 1, f);
	fwrite(client->frameBuffer, 4, (size_t)client->width * client->height, f);
	fclose(f);
}

static int command(rfbClient *client)
{
	char line[4096], path[4000];
	unsigned sym;
	int x, y;
	if (!fgets(line, sizeof line, stdin))
		return 0;
	if (sscanf(line, "dump %3999s", path) == 1) {
		dump(client, path);
	} else if (sscanf(line, "key %u", &sym) == 1) {
		SendKeyEvent(client, sym, TRUE);
		SendKeyEvent(client, sym, FALSE);
	} else if (sscanf(line, "click %d %d", &x, &y) == 2) {
		SendPointerEvent(client, x, y, rfbButton1Mask);
		SendPointerEvent(client, x, y, 0);
	}
	puts("done");
	return 1;
}

int main(int argc, char **argv)
{
	char *args[] = {argv[0], argv[1]};
	int n = 2;
	rfbClient *client = rfbGetClient(8, 3, 4);
	setvbuf(stdin, NULL, _IONBF, 0);
	setvbuf(stdout, NULL, _IOLBF, 0);
	password = argv[2];
	client->GetPassword = get_password;
	client->appData.encodingsString = argv[3];
	client->appData.compressLevel = 2;
	client->appData.enableJPEG = FALSE;
	if (!rfbInitClient(client, &n, args))
		return 1;
	puts("connected");
	for (;;) {
		struct pollfd fds[2] = {{client->sock, POLLIN}, {0, POLLIN}};
		if (!client->buffered && poll(fds, 2, -1) < 0)
			return 1;
		if (client->buffered || fds[0].revents)
			if (!HandleRFBServerMessage(client)) {
				puts("lost");
				return 1;
			}
		if (fds[1].revents && !command(client))
			return 0;
		fds[1].revents = 0;
	}
}
