// What Debian's libstdc++ and libgcc ask of glibc, for a machine that has musl besides it: enough
// to run an executable for musl where no libstdc++ for musl can be had.
#include <stddef.h>

struct tm;
size_t strftime_l(char *, size_t, const char *, const struct tm *, void *);
long getrandom(void *, size_t, unsigned);

size_t __strftime_l(char *text, size_t size, const char *format, const struct tm *time, void *locale) {
  return strftime_l(text, size, format, time, locale);
}

unsigned arc4random(void) {
  unsigned number;
  getrandom(&number, sizeof number, 0);
  return number;
}

// Nothing is destroyed at the end of a thread.
int __cxa_thread_atexit_impl(void (*destroy)(void *), void *object, void *library) { return 0; }

// Found another way.
int _dl_find_object(void *address, void *found) { return -1; }

char __libc_single_threaded = 0;
int __cpu_indicator_init(void) { return 0; }
struct { unsigned fields[4]; } __cpu_model;
