// Sets TCP_NODELAY on every TCP socket of a program that forgot it: LD_PRELOAD=./nodelay.so PROGRAM
// cc -O2 -shared -fPIC nodelay.c -o nodelay.so -ldl
#define _GNU_SOURCE
#include <dlfcn.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

static int no_delay(int socket) {
    int on = 1;
    if (socket >= 0) setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return socket;
}

int connect(int socket, const struct sockaddr *address, socklen_t size) {
    int (*real)(int, const struct sockaddr *, socklen_t) = dlsym(RTLD_NEXT, "connect");
    no_delay(socket);
    return real(socket, address, size);
}

int accept(int socket, struct sockaddr *address, socklen_t *size) {
    int (*real)(int, struct sockaddr *, socklen_t *) = dlsym(RTLD_NEXT, "accept");
    return no_delay(real(socket, address, size));
}

int accept4(int socket, struct sockaddr *address, socklen_t *size, int flags) {
    int (*real)(int, struct sockaddr *, socklen_t *, int) = dlsym(RTLD_NEXT, "accept4");
    return no_delay(real(socket, address, size, flags));
}
