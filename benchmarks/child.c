/* A worker that costs nothing: tells when it started, then sleeps until a signal ends it.
 *
 * child SOCKET [stubborn]: one datagram "PID NANOSECONDS" (CLOCK_MONOTONIC) to SOCKET. A stubborn one ignores SIGTERM.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (argc < 2) return 64;
    if (argc > 2) signal(SIGTERM, SIG_IGN);
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    strncpy(to.sun_path, argv[1], sizeof to.sun_path - 1);
    char text[64];
    int size = snprintf(text, sizeof text, "%d %lld", getpid(), now.tv_sec * 1000000000LL + now.tv_nsec);
    int out = socket(AF_UNIX, SOCK_DGRAM, 0);
    sendto(out, text, size, 0, (struct sockaddr *)&to, sizeof to);
    close(out);
    for (;;) pause();
}
