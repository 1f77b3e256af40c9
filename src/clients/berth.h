/* berth.h: client of the Berth license server for C99. One file; needs libcurl and POSIX threads.
 *
 * In one C file, before any other #include:  #define BERTH_IMPLEMENTATION  (-lcurl -pthread)
 * For berth_verify and the default nonce:    #define BERTH_WITH_OPENSSL    (-lcrypto)
 * In this and in other files, also in C++:   #include "berth.h"
 *
 *   berth_options options = {.urls = "https://a.lan:8443,https://b.lan:8443", .product = "CAD"};
 *   if (berth_client_new(&options, &client, &error)) return show(error.message);
 *   if (berth_acquire(client, "ada@ws-17", NULL, &slot, &error)) return show(error.message);
 *   ...                                        a thread of the client renews the slot
 *   berth_slot_release(slot, NULL);
 *   berth_client_free(client);
 *
 * Calls return a berth_kind; BERTH_OK is 0. `error` and the options of a call may be NULL. Any
 * thread may make any call. While no server answers, a slot is held until its time-out; then
 * on_loss is called. In a child of fork no slot is held, and calls fail with `forked`. exit()
 * releases the slots, in 3 seconds at most; a killed process leaves them to the time-out. */
#ifndef BERTH_H
#define BERTH_H
#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
  BERTH_OK,
  BERTH_NO_FREE_SLOT,     /* all slots are in use, also after the wait */
  BERTH_ACCESS_DENIED,    /* status 401 or 403 */
  BERTH_REFUSED,          /* any other refusal: act on `code` */
  BERTH_UNAVAILABLE,      /* no server gave a final answer in time */
  BERTH_OTHER_APPLIANCE,  /* a URL leads to another license server than the first answer */
  BERTH_LEASE_REFUSED,    /* berth_verify: do not accept the lease */
  BERTH_INVALID_ARGUMENT, /* found before any call; also `client_closed` and `forked` */
  BERTH_OUT_OF_MEMORY
} berth_kind;

typedef struct {
  berth_kind kind;
  int status;          /* of HTTP; 0: no reply */
  int position;        /* BERTH_NO_FREE_SLOT: place in the queue; -1: none */
  char code[40];       /* for the program */
  char message[512];   /* for the user */
  char request_id[64]; /* of the request in the server's log */
  char key[65];        /* BERTH_UNAVAILABLE of borrow and consume: repeat the call with this key */
} berth_error;

typedef struct berth_client berth_client;
typedef struct berth_slot berth_slot;
typedef struct berth_feature berth_feature;

/* Called once when a slot is lost, by the client's thread: no slot is renewed until it returns. It
 * may call the client, except berth_client_free. */
typedef void berth_loss_callback(void *data, const char *user, const berth_error *error);
/* Called while berth_acquire waits, in the same thread. Position 1 gets the next slot. It must not
 * call the client for the same user: that call would wait for this one. */
typedef void berth_wait_callback(void *data, int position, int length);

typedef struct { /* zero or NULL: the default */
  const char *urls, *product;              /* up to 8 URLs of one server, separated by commas */
  const char *ca, *certificate;            /* PEM files: the only trusted CA; certificate and key */
  const char *login_name, *login_password; /* for client_auth = "login" */
  double timeout;                          /* seconds for one HTTP exchange; default 15 */
  double retry_for;                        /* seconds; default 30, with one URL 10; < 0: none */
  const char *nonce, *vendor_keys;         /* of this device; up to 8 texts `x` with commas */
} berth_options;

typedef struct {
  double wait;           /* seconds to wait for a free slot */
  long long license_id;  /* 0: the server chooses; also in the options below */
  const char *user_info; /* for the operator */
  berth_loss_callback *on_loss;
  berth_wait_callback *on_wait;
  void *loss_data, *wait_data;
} berth_acquire_options;

typedef struct {
  long long license_id;
  char registered_at[32], expires_at[32];
  int is_held, is_borrowed;
} berth_slot_information;

typedef struct {
  const char *until, *key; /* RFC 3339, NULL: as long as allowed; idempotency key, NULL: is made */
  long long license_id;
} berth_borrow_options;

typedef struct {
  char user[257], borrowed_until[32], *lease, *license; /* keep the last two for berth_verify */
  long long license_id;
} berth_borrowed;

typedef struct {
  const char *feature, *user, *key;
  long long license_id;
  const long long *max_overages; /* NULL: as the license says */
  int allow_overages;            /* 1 yes, -1 no, 0 as the license says */
} berth_consume_options;

typedef struct {
  long long total, maximum, license_id; /* maximum -1: none */
  char key[65];
} berth_consumption;

typedef struct {
  char user[257], product[257], expires_at[32];
  long long license_id, serial;
} berth_lease;

int berth_client_new(const berth_options *, berth_client **, berth_error *); /* makes no request */
/* Waits for calls in progress, releases all slots that are not borrowed, and frees the client
 * with its slots and features: none of them may be used any more. */
void berth_client_free(berth_client *);
/* Takes a slot. The same user and license_id again give the same slot, to be released as often. */
int berth_acquire(berth_client *, const char *user, const berth_acquire_options *, berth_slot **,
                  berth_error *);
int berth_slot_is_held(const berth_slot *);
int berth_slot_info(const berth_slot *, berth_slot_information *);
char *berth_slot_license(const berth_slot *); /* JSON text; free() it; NULL: out of memory */
/* Releases the slot unless it is borrowed, and frees the handle. BERTH_UNAVAILABLE: the server did
 * not confirm; the slot ends by its time-out. */
int berth_slot_release(berth_slot *, berth_error *);
/* Takes a slot of a floating feature, which ends with the user's slot at the latest. */
int berth_feature_acquire(berth_slot *, const char *code, berth_loss_callback *, void *data,
                          berth_feature **, berth_error *);
int berth_feature_is_held(const berth_feature *);
int berth_feature_release(berth_feature *, berth_error *); /* as berth_slot_release */
int berth_borrow(berth_client *, const char *user, const berth_borrow_options *, berth_borrowed *,
                 berth_error *);
void berth_borrow_free(berth_borrowed *);
/* Returns the user's borrow, or releases the user's slot. */
int berth_release(berth_client *, const char *user, berth_error *);
/* Counts n once, however often it has to be sent. */
int berth_consume(berth_client *, long long n, const berth_consume_options *, berth_consumption *,
                  berth_error *);
/* Checks a lease and its license by the vendor's key; makes no request. */
int berth_verify(berth_client *, const char *lease, const char *license, berth_lease *,
                 berth_error *);

#ifdef __cplusplus
}
#endif
#endif

#if defined(BERTH_IMPLEMENTATION) && !defined(BERTH_IMPLEMENTED)
#define BERTH_IMPLEMENTED
#if !defined(_POSIX_C_SOURCE) && !defined(_GNU_SOURCE) && !defined(__APPLE__)
#define _POSIX_C_SOURCE 200809L
#endif
#include <curl/curl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>
#ifdef BERTH_WITH_OPENSSL
#include <openssl/evp.h>
#endif

typedef struct {
  char *data; /* ends with NUL */
  size_t size, room;
  int has_failed;
} berth__buffer;

typedef struct { /* a call, with the last reply to it */
  berth_client *client;
  const char *path, *accept, *nonce, *key;
  char *body;                                /* NULL: GET; freed by berth__call */
  int (*read)(const char *reply, void *out); /* 0: malformed; NULL: any reply will do */
  void *out;
  int wait; /* seconds for `Prefer: wait`; -1: without */
  int is_text, is_login, is_cancellable, is_release, has_new_login, queue_length;
  double timeout, retry_for, sent_at, retry_after;
  long status;
  berth__buffer reply;
  char appliance[64], request_id[64], preference[16];
} berth__request;

typedef struct { /* the last reply to register or featureRegister */
  long long license_id;
  char registered_at[32], expires_at[32], *license;
  int is_borrowed;
  double minutes;
} berth__registration;

/* A slot of a user or of a feature. Changes only with the client's lock. It is being taken (busy,
 * not held), held, being released (busy, not held), or has ended (neither). */
struct berth_slot {
  berth_slot *next, *slot; /* slot: of a feature, the user's slot; NULL: that has ended */
  berth_client *client;
  int references, is_busy, is_held, is_returning, is_borrowed_here, is_loss_due, failures;
  double ends_at, renew_at;
  long long license_id; /* that the caller wants; 0: any */
  char user[257], feature[257], user_info[4097];
  berth__registration now;
  berth_loss_callback *on_loss;
  void *data;
  berth_error loss;
};
struct berth_feature { berth_slot slot; };

struct berth_client {
  pthread_mutex_t lock; /* never held during a request or a callback */
  pthread_cond_t changed;
  pthread_t thread;
  pid_t pid;
  int has_thread, has_thread_ended, is_closing, calls, server_count, current, key_count;
  double timeout, retry_for, give_up_at; /* give_up_at: the end of all calls, at exit; else 0 */
  struct { char url[512], token[512]; int has_answered; } servers[8];
  char appliance[64], product[257], ca[1024], certificate[1024], login[520], nonce[129], host[257];
  unsigned char keys[8][32];
  berth_slot *slots, *reporting; /* reporting: its on_loss is being called */
  berth_client *next;
};

static pthread_once_t berth__once = PTHREAD_ONCE_INIT;
static pthread_mutex_t berth__clients_lock = PTHREAD_MUTEX_INITIALIZER;
static berth_client *berth__clients;

static int berth__fail(berth_error *e, berth_kind kind, const char *code, const char *format, ...) {
  va_list list;
  if (!e) return kind;
  memset(e, 0, sizeof *e);
  e->kind = kind;
  e->position = -1;
  snprintf(e->code, sizeof e->code, "%s", code);
  va_start(list, format);
  vsnprintf(e->message, sizeof e->message, format, list);
  va_end(list);
  return kind;
}

static int berth__invalid(berth_error *e, const char *message) {
  return berth__fail(e, BERTH_INVALID_ARGUMENT, "invalid_argument", "%s", message);
}

static int berth__copy(char *to, size_t room, const char *from) {
  return snprintf(to, room, "%s", from ? from : "") < (int)room;
}

/* tolower depends on the locale: in Turkish, I has no small letter of one byte. */
static char berth__lower(char letter) {
  return letter >= 'A' && letter <= 'Z' ? (char)(letter + 'a' - 'A') : letter;
}

static void berth__append(berth__buffer *b, const void *data, size_t size) {
  size_t room = b->size + size < b->room ? b->room : 2 * (b->size + size) + 64;
  char *grown = room == b->room ? b->data : (char *)realloc(b->data, room);
  b->has_failed |= !grown;
  if (!grown) return;
  b->data = grown;
  b->room = room;
  memcpy(b->data + b->size, data, size);
  b->size += size;
  b->data[b->size] = '\0';
}

/* --- JSON: a text is checked once as a whole; then values are found by pointers into it. --- */

static int berth__is_escape(const char *p, unsigned *code) {
  char digits[5] = "";
  if (p[0] != '\\' || p[1] != 'u') return 0;
  strncat(digits, p + 2, 4); /* sscanf and strspn would read on to the end of the reply */
  *code = (unsigned)strtoul(digits, NULL, 16);
  return strspn(digits, "0123456789abcdefABCDEF") == 4;
}

/* Moves over one character of a string and writes it to out[4]. Returns its size; 0: malformed. */
static int berth__character(const char **at, char *out) {
  static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
  const char *p = *at, *name = *p == '\\' && p[1] ? strchr(names, p[1]) : NULL;
  unsigned code = (unsigned char)*p, low;
  int size = code < 0xC0 ? 1 : code < 0xE0 ? 2 : code < 0xF0 ? 3 : 4;
  *at += name ? 2 : size;
  *out = name ? values[name - names] : *p;
  if (name || (code < 0x80 && *p != '\\')) return code >= 0x20;
  if (*p == '\\') {
    if (!berth__is_escape(p, &code)) return 0;
    *at += 5;
    if (code >> 10 == 0x36 && berth__is_escape(p + 6, &low) && low >> 10 == 0x37) {
      code = 0x10000 + ((code & 0x3FF) << 10) + (low & 0x3FF);
      *at += 6;
    }
    if (code == 0 || code >> 11 == 0x1B) code = 0xFFFD; /* no character of a text in C */
  } else {
    code &= 0xFFu >> size;
    for (int i = 1; i < size; i++) {
      if (((unsigned char)p[i] & 0xC0) != 0x80) return 0;
      code = code << 6 | ((unsigned char)p[i] & 0x3F);
    }
    if (size == 1 || code < (size == 2 ? 0x80u : size == 3 ? 0x800u : 0x10000u)) return 0;
    if (code >> 11 == 0x1B || code > 0x10FFFF) return 0;
  }
  size = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  for (int i = size - 1; i > 0; i--, code >>= 6) out[i] = (char)(0x80 | (code & 0x3F));
  out[0] = (char)(size == 1 ? code : (0xF00u >> size & 0xFF) | code);
  return size;
}

static const char *berth__space(const char *p) { return p + strspn(p, " \t\r\n"); }
static const char *berth__digits(const char *p) { return p + strspn(p, "0123456789"); }

static const char *berth__skip_string(const char *p) {
  char unused[4];
  if (*p++ != '"') return NULL;
  while (*p != '"') {
    if (!berth__character(&p, unused)) return NULL;
  }
  return p + 1;
}

/* Returns the end of a number; NULL: malformed. strtod would depend on the locale. */
static const char *berth__number(const char *p, double *out) {
  const char *start = p + (*p == '-'), *point = berth__digits(start), *end = point;
  double value = 0;
  int exponent = 0;
  if (point == start || (*start == '0' && point > start + 1)) return NULL;
  if (*point == '.') end = berth__digits(point + 1);
  if (*point == '.' && end == point + 1) return NULL;
  for (const char *digit = start; digit < end; digit++) {
    if (*digit != '.') value = value * 10 + (*digit - '0');
  }
  if (*point == '.') exponent = (int)(point + 1 - end);
  if (*end == 'e' || *end == 'E') {
    start = end + (end[1] == '-' || end[1] == '+' ? 2 : 1);
    exponent += (end[1] == '-' ? -1 : 1) * (berth__digits(start) - start > 3 ? 999 : atoi(start));
    end = berth__digits(start);
    if (end == start) return NULL;
  }
  for (; exponent > 0 && value < 1e300; exponent--) value *= 10;
  for (; exponent < 0 && value > 0; exponent++) value /= 10;
  *out = *p == '-' ? -value : value;
  return end;
}

static const char *berth__skip(const char *p, int depth, int is_strict);

/* Finds a member of a checked object, from its first key on and before `end`; the last counts. */
static const char *berth__member(const char *p, const char *end, const char *name, size_t size) {
  const char *found = NULL;
  while (*p == '"' && p != end) {
    int is_same = !strncmp(p + 1, name, size) && p[1 + size] == '"';
    p = berth__space(berth__space(berth__skip_string(p)) + 1);
    if (is_same) found = p;
    p = berth__space(berth__skip(p, 64, 0));
    if (*p == ',') p = berth__space(p + 1);
  }
  return found;
}

/* Returns the end of a value; NULL: malformed. Strict: no key is repeated or has an escape. */
static const char *berth__skip(const char *p, int depth, int is_strict) {
  char close = *p == '{' ? '}' : ']';
  double unused;
  if (*p == '"') return berth__skip_string(p);
  if (!strncmp(p, "true", 4) || !strncmp(p, "null", 4)) return p + 4;
  if (!strncmp(p, "false", 5)) return p + 5;
  if (*p != '{' && *p != '[') return berth__number(p, &unused);
  const char *first = p = berth__space(p + 1);
  if (*p == close) return p + 1;
  for (; depth > 0; p = berth__space(p + 1)) {
    if (close == '}') {
      const char *key = p;
      p = berth__skip_string(p);
      if (!p || (is_strict && memchr(key, '\\', (size_t)(p - key)))) return NULL;
      if (is_strict && berth__member(first, key, key + 1, (size_t)(p - key - 2))) return NULL;
      p = berth__space(p);
      if (*p != ':') return NULL;
      p = berth__space(p + 1);
    }
    p = berth__skip(p, depth - 1, is_strict);
    if (!p) return NULL;
    p = berth__space(p);
    if (*p == close) return p + 1;
    if (*p != ',') return NULL;
  }
  return NULL;
}

static int berth__is_object(const char *text, size_t size, int is_strict) {
  const char *p = berth__space(text);
  p = *p == '{' ? berth__skip(p, 64, is_strict) : NULL;
  return p && berth__space(p) == text + size;
}

/* Finds a value in a checked object by a path such as "queue.position"; NULL: absent. */
static const char *berth__find(const char *json, const char *path) {
  for (size_t size; json && *path; path += size + (path[size] == '.')) {
    size = strcspn(path, ".");
    json = berth__space(json);
    json = *json == '{' ? berth__member(berth__space(json + 1), NULL, path, size) : NULL;
  }
  return json;
}

/* Returns a string's text, to be freed; NULL: not a string, or no memory. */
static char *berth__text(const char *value) {
  char *text = *value == '"' ? (char *)calloc(1, strlen(value)) : NULL, *end = text;
  for (value++; text && *value != '"';) end += berth__character(&value, end);
  return text;
}

/* Reads members of a checked object. For each letter in `types` follow a path and a place for the
 * value: i long long*, n double*, b int*, s char** (to be freed), t char[] and its size. After a
 * capital letter, null and absent leave the place as it is. Returns 0 if a member is wrong. */
static int berth__read(const char *json, const char *types, ...) {
  va_list list;
  int is_good = 1;
  va_start(list, types);
  for (; is_good && *types; types++) {
    const char *value = berth__find(json, va_arg(list, const char *));
    void *place = va_arg(list, void *);
    char type = berth__lower(*types);
    size_t room = type == 't' ? va_arg(list, size_t) : 0;
    double number = 0;
    if ((!value || *value == 'n') && type != *types) continue;
    char *text = value && (type == 's' || type == 't') ? berth__text(value) : NULL;
    if (type == 's') {
      free(*(char **)place);
      *(char **)place = text;
      is_good = text != NULL;
    } else if (type == 't') {
      is_good = text && berth__copy((char *)place, room, text);
      free(text);
    } else if (type == 'b') {
      is_good = value && (*value == 't' || *value == 'f');
      *(int *)place = is_good && *value == 't';
    } else {
      is_good = value && berth__number(value, &number) && number > -0x1p53 && number < 0x1p53;
      if (is_good && type == 'n') *(double *)place = number;
      if (is_good && type == 'i') is_good = (*(long long *)place = (long long)number) == number;
    }
  }
  va_end(list);
  return is_good;
}

static void berth__append_string(berth__buffer *b, const char *text) {
  char escape[8];
  berth__append(b, "\"", 1);
  for (; *text; text++) {
    int is_plain = (unsigned char)*text >= 0x20 && *text != '"' && *text != '\\';
    int size = snprintf(escape, sizeof escape, is_plain ? "%c" : "\\u%04x", *text);
    berth__append(b, escape, (size_t)size);
  }
  berth__append(b, "\"", 1);
}

/* Makes an object of pairs of name and text, up to the name NULL, and leaves out empty texts. It is
 * to be freed; NULL: no memory. */
static char *berth__object(const char *name, ...) {
  berth__buffer b = {0};
  va_list list;
  va_start(list, name);
  for (; name; name = va_arg(list, const char *)) {
    const char *text = va_arg(list, const char *);
    if (!text || !*text) continue;
    berth__append(&b, b.size ? "," : "{", 1);
    berth__append_string(&b, name);
    berth__append(&b, ":", 1);
    berth__append_string(&b, text);
  }
  va_end(list);
  berth__append(&b, "}", 1);
  if (b.has_failed) free(b.data);
  return b.has_failed ? NULL : b.data;
}

/* --- Time and random numbers --- */

/* Seconds of the clock that also counts while the machine sleeps, if there is one. */
static double berth__now(void) {
  struct timespec t = {0, 0};
#ifdef CLOCK_BOOTTIME
  clock_gettime(CLOCK_BOOTTIME, &t);
#else
  clock_gettime(CLOCK_MONOTONIC, &t);
#endif
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Waits for a change, with the lock; 1 second at most: this clock stops in a sleeping machine. */
static void berth__wait(berth_client *c, double seconds) {
  struct timespec t = {0, seconds >= 1 ? 999999999L : seconds > 0 ? (long)(seconds * 1e9) : 0};
#ifdef __APPLE__
  pthread_cond_timedwait_relative_np(&c->changed, &c->lock, &t);
#else
  long nanoseconds = t.tv_nsec;
  clock_gettime(CLOCK_MONOTONIC, &t);
  t.tv_sec += (t.tv_nsec + nanoseconds) / 1000000000L;
  t.tv_nsec = (t.tv_nsec + nanoseconds) % 1000000000L;
  pthread_cond_timedwait(&c->changed, &c->lock, &t);
#endif
}

static int berth__random(unsigned char *out, size_t size) {
  FILE *file = fopen("/dev/urandom", "rb");
  int is_good = file && fread(out, 1, size, file) == size;
  if (file) fclose(file);
  return is_good;
}

/* Changes a time by a random part of it, up to the share, so that clients do not call together. */
static double berth__jitter(double seconds, double share) {
  unsigned char random = 128;
  berth__random(&random, 1);
  return seconds * (1 + share * (random / 127.5 - 1));
}

static void berth__hex(const unsigned char *bytes, size_t size, char *out) {
  for (; size-- > 0; out += 2) snprintf(out, 3, "%02x", *bytes++);
}

/* --- HTTP --- */

static int berth__must_stop(const berth__request *r) {
  berth_client *c = r->client;
  pthread_mutex_lock(&c->lock);
  int must_stop = (c->is_closing && r->is_cancellable)
               || (c->give_up_at > 0 && berth__now() > c->give_up_at);
  pthread_mutex_unlock(&c->lock);
  return must_stop;
}

/* Waits, unless the call must stop. */
static void berth__pause(const berth__request *r, double seconds) {
  for (double end = berth__now() + seconds; berth__now() < end && !berth__must_stop(r);) {
    pthread_mutex_lock(&r->client->lock);
    berth__wait(r->client, end - berth__now());
    pthread_mutex_unlock(&r->client->lock);
  }
}

static int berth__on_progress(void *r, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d) {
  return a + b + c + d < 0 || berth__must_stop((const berth__request *)r);
}

static size_t berth__on_body(char *data, size_t one, size_t size, void *request) {
  berth__request *r = (berth__request *)request;
  if (r->reply.size + size > 1024 * 1024) return 0;
  berth__append(&r->reply, data, one * size);
  return r->reply.has_failed ? 0 : size;
}

static size_t berth__on_header(char *data, size_t one, size_t size, void *request) {
  berth__request *r = (berth__request *)request;
  char line[256];
  snprintf(line, sizeof line, "%.*s", (int)(one * size), data);
  for (char *p = line; *p && *p != ':'; p++) *p = berth__lower(*p);
  sscanf(line, "berth-appliance: %63[!-~]", r->appliance);
  sscanf(line, "x-request-id: %63[!-~]", r->request_id);
  sscanf(line, "preference-applied: %15[!-~]", r->preference);
  if (!strncmp(line, "retry-after:", 12)) r->retry_after = atoi(line + 12);
  return size;
}

/* Sends a request to one server. If there is no whole reply, `problem` says why. */
static int berth__exchange(berth__request *r, const char *url, const char *token, int wait,
                           char problem[CURL_ERROR_SIZE]) {
  const berth_client *c = r->client;
  CURL *curl = curl_easy_init();
  CURLcode result = CURLE_OUT_OF_MEMORY;
  struct curl_slist *headers = NULL;
  double timeout = (r->timeout > 0 ? r->timeout : c->timeout) + (wait > 0 ? wait : 0);
  char address[1400], line[600], seconds[24] = "";
  if (wait >= 0) snprintf(seconds, sizeof seconds, "wait=%d", wait);
  const char *const pairs[][2] = {
    {"Expect:", ""}, {"Content-Type: ", r->body ? "application/json" : NULL},
    {"Accept: ", r->accept}, {"Authorization: Bearer ", *token ? token : NULL},
    {"X-Nonce: ", r->nonce}, {"Idempotency-Key: ", r->key},
    {"Prefer: ", *seconds ? seconds : NULL}};
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
    if (!pairs[i][1]) continue;
    snprintf(line, sizeof line, "%s%s", pairs[i][0], pairs[i][1]);
    struct curl_slist *longer = curl_slist_append(headers, line);
    if (!longer) curl_slist_free_all(headers);
    headers = longer;
    if (!headers) break; /* a request without its key must not be sent */
  }
  snprintf(address, sizeof address, "%s%s", url, r->path);
  r->appliance[0] = r->request_id[0] = r->preference[0] = problem[0] = '\0';
  r->retry_after = r->status = 0;
  r->reply.size = 0;
  berth__append(&r->reply, "", 0);
  r->sent_at = berth__now();
  if (curl && headers && r->reply.data) {
    curl_easy_setopt(curl, CURLOPT_URL, address);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_PROXY, "");
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)(timeout * 1000) + 1);
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, problem);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, berth__on_body);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, r);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, berth__on_header);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, r);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, berth__on_progress);
    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, r);
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    if (r->body) curl_easy_setopt(curl, CURLOPT_POSTFIELDS, r->body);
    if (r->is_login) curl_easy_setopt(curl, CURLOPT_USERPWD, c->login);
    if (c->ca[0]) curl_easy_setopt(curl, CURLOPT_CAINFO, c->ca);
    if (c->ca[0]) curl_easy_setopt(curl, CURLOPT_CAPATH, NULL); /* else system CAs count too */
    if (c->certificate[0]) curl_easy_setopt(curl, CURLOPT_SSLCERT, c->certificate);
    result = curl_easy_perform(curl);
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &r->status);
  }
  if (!problem[0]) snprintf(problem, CURL_ERROR_SIZE, "%s", curl_easy_strerror(result));
  curl_easy_cleanup(curl);
  curl_slist_free_all(headers);
  return result == CURLE_OK;
}

static int berth__read_token(const char *reply, void *out) {
  return berth__read(reply, "t", "token", out, (size_t)512) && *(char *)out
      && !strpbrk((char *)out, "\r\n");
}

/* What an attempt gave; of several the largest is reported. */
enum { BERTH__NO_REPLY = 1, BERTH__FOREIGN, BERTH__REPLY, BERTH__FINAL };

/* Sends the request to one server and judges the reply. */
static int berth__attempt(berth__request *r, int index, berth_error *e) {
  berth_client *c = r->client;
  const char *url = c->servers[index].url;
  char token[512], pinned[64], problem[CURL_ERROR_SIZE], *code = NULL, *message = NULL;
  int rank = BERTH__NO_REPLY, kind = BERTH_UNAVAILABLE;
  long long position = -1, length = 0;
  pthread_mutex_lock(&c->lock);
  strcpy(token, r->is_login ? "" : c->servers[index].token);
  int wait = r->wait > 0 && !c->servers[index].has_answered ? 0 : r->wait;
  pthread_mutex_unlock(&c->lock);
  if (c->login[0] && !token[0] && !r->is_login) {
    berth__request login = {.client = c, .path = "/auth", .read = berth__read_token, .out = token,
                            .wait = -1, .is_login = 1, .is_cancellable = r->is_cancellable};
    rank = berth__attempt(&login, index, e);
    free(login.reply.data);
    return rank == BERTH__FINAL && e->kind == BERTH_OK ? berth__attempt(r, index, e) : rank;
  }
  if (!berth__exchange(r, url, token, wait, problem)) {
    berth__fail(e, BERTH_UNAVAILABLE, "unreachable", "%s cannot be reached: %s; check the address "
                "and that the server runs", url, problem);
    return rank;
  }
  int is_object = berth__is_object(r->reply.data, r->reply.size, 0);
  if (r->status / 100 == 2
      && (!r->read || ((is_object || r->is_text) && r->read(r->reply.data, r->out)))) {
    rank = BERTH__FINAL;
    kind = BERTH_OK;
  } else if (r->status >= 400 && is_object
             && berth__read(r->reply.data, "sSII", "code", &code, "message", &message,
                            "queue.position", &position, "queue.length", &length) && *code) {
    rank = r->status >= 500 || r->status == 408 || r->status == 429 ? BERTH__REPLY : BERTH__FINAL;
    kind = rank == BERTH__REPLY ? BERTH_UNAVAILABLE
         : !strcmp(code, "floating_not_available") ? BERTH_NO_FREE_SLOT
         : !strcmp(code, "slots_capped") ? BERTH_NO_FREE_SLOT
         : r->is_release && !strcmp(code, "user_not_registered") ? BERTH_OK
         : r->status == 401 || r->status == 403 ? BERTH_ACCESS_DENIED : BERTH_REFUSED;
  }
  pthread_mutex_lock(&c->lock);
  strcpy(pinned, c->appliance);
  if (!r->appliance[0]) rank = BERTH__NO_REPLY;
  else if (*pinned && strcmp(pinned, r->appliance)) rank = BERTH__FOREIGN;
  int needs_login = rank == BERTH__FINAL && r->status == 401 && *token && !r->has_new_login;
  if (rank == BERTH__FINAL) {
    strcpy(c->appliance, r->appliance);
    c->current = index;
    c->servers[index].has_answered = 1;
    if (r->is_login && kind == BERTH_OK) strcpy(c->servers[index].token, (char *)r->out);
    if (needs_login) c->servers[index].token[0] = '\0';
  }
  pthread_mutex_unlock(&c->lock);
  if (rank == BERTH__NO_REPLY) {
    berth__fail(e, BERTH_UNAVAILABLE, "unreachable", "the reply of %s (status %ld) is not one of "
                "Berth; check the address", url, r->status);
  } else if (rank == BERTH__FOREIGN) {
    berth__fail(e, BERTH_OTHER_APPLIANCE, "other_appliance", "%s is the license server %s, but %s "
                "answered first; give only addresses of one server", url, r->appliance, pinned);
  } else {
    berth__fail(e, (berth_kind)kind, code ? code : "", "%.400s (%s)", message ? message : "", url);
    e->position = position >= 0 && position < 1000000 ? (int)position : -1;
    r->queue_length = length >= 0 && length < 1000000 ? (int)length : 0;
  }
  e->status = (int)r->status;
  strcpy(e->request_id, r->request_id);
  free(code);
  free(message);
  r->has_new_login |= needs_login;
  return needs_login ? berth__attempt(r, index, e) : rank;
}

/* Makes a call: to the current server, then to the others, again and again within the budget. */
static int berth__call(berth__request *r, berth_error *error) {
  berth_client *c = r->client;
  berth_error e, best = {0};
  double started = berth__now();
  int best_rank = r->body || r->is_text ? 0 : BERTH__FINAL; /* a POST needs its body */
  if (best_rank) berth__fail(&best, BERTH_OUT_OF_MEMORY, "out_of_memory", "out of memory");
  for (double pause = 0.25;; pause = pause < 2.5 ? 2 * pause : 5) {
    double after = berth__jitter(pause, 0.25);
    pthread_mutex_lock(&c->lock);
    int first = c->current;
    pthread_mutex_unlock(&c->lock);
    for (int i = 0; i < c->server_count && best_rank < BERTH__FINAL; i++) {
      int rank = berth__attempt(r, (first + i) % c->server_count, &e);
      best = rank >= best_rank ? e : best;
      best_rank = rank >= best_rank ? rank : best_rank;
      if (r->retry_after > after) after = r->retry_after;
      if (best_rank == BERTH__FINAL || !berth__must_stop(r)) continue;
      berth__fail(&best, BERTH_INVALID_ARGUMENT, "client_closed", "the client was closed");
      best_rank = BERTH__FINAL;
    }
    double budget = r->is_release && !strcmp(best.code, "standby") ? 30 : r->retry_for;
    double left = started + budget - berth__now();
    if (best_rank == BERTH__FINAL || left < 0.1) break;
    berth__pause(r, after < left ? after : left);
  }
  free(r->reply.data);
  free(r->body);
  if (error) *error = best;
  return best.kind;
}

/* Begins a call of the application; every BERTH_OK is followed by berth__leave. */
static int berth__enter(berth_client *c, berth_error *e) {
  if (!c || c->pid != getpid()) {
    return berth__fail(e, BERTH_INVALID_ARGUMENT, c ? "forked" : "invalid_argument",
                       "this process has not created the client; create one in it");
  }
  pthread_mutex_lock(&c->lock);
  int is_closing = c->is_closing;
  c->calls += !is_closing;
  pthread_mutex_unlock(&c->lock);
  if (!is_closing) return berth__fail(e, BERTH_OK, "", "%s", "");
  return berth__fail(e, BERTH_INVALID_ARGUMENT, "client_closed", "the client was closed");
}

static int berth__leave(berth_client *c, int kind) {
  pthread_mutex_lock(&c->lock);
  c->calls--;
  pthread_cond_broadcast(&c->changed);
  pthread_mutex_unlock(&c->lock);
  return kind;
}

/* --- Slots of users and of features --- */

static int berth__read_feature(const char *reply, void *out) {
  berth__registration *g = (berth__registration *)out;
  return berth__read(reply, "n", "floating_timeout", &g->minutes) && g->minutes > 0
      && g->minutes < 1e7;
}

static int berth__read_slot(const char *reply, void *out) {
  berth__registration *g = (berth__registration *)out;
  return berth__read_feature(reply, out)
      && berth__read(reply, "ittbs", "license_id", &g->license_id, "registered_at",
                     g->registered_at, sizeof g->registered_at, "expires_at", g->expires_at,
                     sizeof g->expires_at, "is_borrowed", &g->is_borrowed, "license_json",
                     &g->license)
      && g->license_id >= 0 && berth__is_object(g->license, strlen(g->license), 0);
}

/* Writes a number of a request; nothing for 0, which means none. */
static const char *berth__digits_of(long long number, char out[24]) {
  out[0] = '\0';
  if (number) snprintf(out, 24, "%lld", number);
  return out;
}

/* Takes or renews a slot; the caller has set the other members of r. */
static int berth__register(berth__request *r, const berth_slot *h, berth__registration *out,
                           berth_error *e) {
  char id[24];
  r->path = h->feature[0] ? "/api/v4/featureRegister" : "/api/v4/register";
  r->body = berth__object("product", r->client->product, "user", h->user, "feature", h->feature,
                          "os_hostname", r->client->host, "user_info", h->user_info, "license_id",
                          berth__digits_of(h->license_id, id), NULL);
  r->read = h->feature[0] ? berth__read_feature : berth__read_slot;
  r->out = out;
  return berth__call(r, e);
}

/* Releases a slot at the server, or a place in its queue. */
static int berth__unregister(berth_client *c, const berth_slot *h, double timeout,
                             double retry_for, berth_error *e) {
  char id[24];
  berth__request r = {.client = c, .wait = -1, .is_release = 1, .retry_for = retry_for};
  r.timeout = c->timeout < timeout ? c->timeout : timeout;
  r.path = h->feature[0] ? "/api/v4/featureRelease" : "/api/v4/unregister";
  berth__digits_of(h->now.license_id ? h->now.license_id : h->license_id, id);
  r.body = berth__object("product", c->product, "user", h->user, "feature", h->feature,
                         "license_id", id, NULL);
  return berth__call(&r, e);
}

/* The functions up to berth__run are called with the lock. This one notes a granted slot. */
static void berth__note(berth_slot *h, const berth__registration *granted, double sent_at) {
  free(h->now.license);
  h->now = *granted;
  h->failures = 0;
  h->ends_at = sent_at + granted->minutes * 60;
  h->renew_at = sent_at + berth__jitter(granted->minutes * 20, 0.1);
}

static void berth__end(berth_slot *h) {
  for (berth_slot *other = h->client->slots; other; other = other->next) {
    if (other != h && other->slot != h) continue;
    other->is_held = 0;
    other->slot = NULL;
  }
}

/* Frees a slot that has ended, with its last reference. */
static void berth__drop(berth_slot *h) {
  berth_slot **at = &h->client->slots;
  pthread_cond_broadcast(&h->client->changed);
  if (h->references || h->is_held || h->is_busy) return;
  while (*at != h) at = &(*at)->next;
  *at = h->next;
  free(h->now.license);
  free(h);
}

static void berth__renew(berth_slot *h) {
  berth_client *c = h->client;
  berth__registration granted = h->now;
  double sixth = h->now.minutes * 10;
  berth__request r = {.client = c, .wait = -1, .timeout = sixth < 1 ? 1 : sixth};
  berth_error e;
  if (r.timeout > c->timeout) r.timeout = c->timeout;
  granted.license = NULL;
  h->is_busy = 1;
  pthread_mutex_unlock(&c->lock);
  int kind = berth__register(&r, h, &granted, &e);
  /* A 400 of a proxy or of another license server says nothing about the slot. */
  int is_refused = e.status == 400 && kind != BERTH_UNAVAILABLE && kind != BERTH_OTHER_APPLIANCE;
  pthread_mutex_lock(&c->lock);
  h->is_busy = 0;
  if (kind == BERTH_OK) {
    berth__note(h, &granted, r.sent_at);
  } else if (h->is_held && (is_refused || berth__now() >= h->ends_at)) {
    berth__end(h);
    h->loss = e;
    h->is_loss_due = 1;
  } else {
    double pause = berth__jitter(h->failures < 4 ? 1 << h->failures : 15, 0.25);
    h->renew_at = berth__now() + (pause < sixth ? pause : sixth);
    if (h->renew_at > h->ends_at) h->renew_at = h->ends_at;
    h->failures++;
  }
  if (kind != BERTH_OK) free(granted.license);
  berth__drop(h);
}

static void berth__report(berth_slot *h) {
  berth_client *c = h->client;
  h->is_loss_due = 0;
  c->reporting = h; /* keeps it from being freed by another thread */
  pthread_mutex_unlock(&c->lock);
  if (h->on_loss) h->on_loss(h->data, h->user, &h->loss);
  pthread_mutex_lock(&c->lock);
  c->reporting = NULL;
  berth__drop(h);
}

/* The thread: renews slots, and reports losses. */
static void *berth__run(void *client) {
  berth_client *c = (berth_client *)client;
  pthread_mutex_lock(&c->lock);
  while (!c->is_closing) {
    berth_slot *next = NULL, *lost = NULL;
    for (berth_slot *h = c->slots; h; h = h->next) {
      if (h->is_loss_due) lost = h;
      if (h->is_held && !h->is_busy && (!next || h->renew_at < next->renew_at)) next = h;
    }
    if (lost) berth__report(lost);
    else if (next && next->renew_at <= berth__now()) berth__renew(next);
    else berth__wait(c, next ? next->renew_at - berth__now() : 1);
  }
  c->has_thread_ended = 1;
  pthread_cond_broadcast(&c->changed);
  pthread_mutex_unlock(&c->lock);
  return NULL;
}

static int berth__is_thread(const berth_client *c) {
  return c->has_thread && pthread_equal(c->thread, pthread_self());
}

/* Starts the thread, which handles no signals of the application. */
static int berth__start(berth_client *c) {
  sigset_t all, old;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  if (!c->has_thread) c->has_thread = !pthread_create(&c->thread, NULL, berth__run, c);
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  return c->has_thread;
}

/* Takes a slot at the server, and waits for one if the caller wants to. Without the lock. */
static int berth__wait_for_slot(berth_slot *h, const berth_acquire_options *o,
                                berth__registration *granted, double *sent_at, berth_error *e) {
  berth_client *c = h->client;
  double end = berth__now() + o->wait, left = o->wait;
  berth_error unused;
  int has_place = 0;
  if (!e) e = &unused;
  for (int is_first = 1;; is_first = 0) {
    berth__request r = {.client = c, .is_cancellable = o->wait > 0};
    r.wait = o->wait <= 0 ? -1 : is_first ? 0 : left > 30 ? 30 : (int)left;
    r.retry_for = left > c->retry_for ? left : c->retry_for;
    int kind = berth__register(&r, h, granted, e);
    *sent_at = r.sent_at;
    int is_queued = kind == BERTH_NO_FREE_SLOT && o->wait > 0;
    has_place |= is_queued;
    if (is_queued && o->on_wait && e->position >= 0) {
      o->on_wait(o->wait_data, e->position, r.queue_length);
    }
    /* At once again if the server waited; but not if it only says so. */
    if (is_queued && !(r.preference[0] && (is_first || berth__now() > r.sent_at + 0.5))) {
      double pause = r.retry_after > 0 ? r.retry_after : 5;
      left = end - berth__now();
      berth__pause(&r, pause < left ? pause : left);
    }
    left = end - berth__now();
    if (is_queued && left > 0) continue;
    if (is_queued || (has_place && kind == BERTH_INVALID_ARGUMENT)) {
      /* Leaves the queue. Without a place, this could return a borrow of the user. */
      berth__unregister(c, h, 3, 0, NULL);
    }
    return kind;
  }
}

/* With the lock: waits for acquires and releases of a user, then keeps out others until
 * berth__unclaim. The claim stands in the list of slots. */
static void berth__claim(berth_slot *claim) {
  berth_client *c = claim->client;
  for (berth_slot *h = c->slots; h; h = h ? h->next : c->slots) {
    if (!h->is_busy || strcmp(h->user, claim->user)) continue;
    berth__wait(c, 1);
    h = NULL; /* the list may have changed: begin again */
  }
  claim->is_returning = claim->is_busy = 1;
  claim->next = c->slots;
  c->slots = claim;
}

static void berth__unclaim(berth_slot *claim) {
  berth_slot **at = &claim->client->slots;
  while (*at != claim) at = &(*at)->next;
  *at = claim->next;
  pthread_cond_broadcast(&claim->client->changed);
}

static int berth__is_claimed(const berth_slot *h) {
  const berth_slot *other = h->client->slots;
  while (other && !(other->is_returning && !strcmp(other->user, h->user))) other = other->next;
  return other != NULL;
}

/* Takes the slot that `wanted` describes, or one more reference to it. */
static int berth__take(const berth_slot *wanted, const berth_acquire_options *o, berth_slot **out,
                       berth_error *e) {
  berth_client *c = wanted->client;
  berth__registration granted = {0};
  double sent_at = 0;
  berth_slot *h;
  int kind = BERTH_OK;
  pthread_mutex_lock(&c->lock);
  for (;; berth__wait(c, 1)) {
    for (h = c->slots; h; h = h->next) {
      if (strcmp(h->user, wanted->user)) continue;
      if (h->is_returning) break; /* by another thread: wait, lest it ends the new slot */
      if ((h->is_held || h->is_busy) && h->slot == wanted->slot
          && !strcmp(h->feature, wanted->feature) && h->license_id == wanted->license_id) break;
    }
    if (!h || (h->is_held && (berth__now() < h->ends_at || berth__is_thread(c)))) break;
    if (!c->is_closing) continue;
    /* The thread may have ended, and h would not change any more. */
    kind = berth__fail(e, BERTH_INVALID_ARGUMENT, "client_closed", "the client was closed");
    break;
  }
  if (kind != BERTH_OK) {
    h = NULL;
  } else if (wanted->slot && !wanted->slot->is_held) {
    kind = berth__invalid(e, "the slot of the user is not held any more");
  } else if (!h) {
    h = berth__start(c) ? (berth_slot *)malloc(sizeof(berth_feature)) : NULL;
    if (!h) kind = berth__fail(e, BERTH_OUT_OF_MEMORY, "out_of_memory", "no memory or no thread");
    if (h) {
      *h = *wanted;
      h->next = c->slots;
      h->is_busy = 1;
      c->slots = h;
      pthread_mutex_unlock(&c->lock);
      kind = berth__wait_for_slot(h, o, &granted, &sent_at, e);
      pthread_mutex_lock(&c->lock);
      berth__note(h, &granted, sent_at);
      h->is_busy = 0;
      h->is_held = kind == BERTH_OK && (h->slot || !h->feature[0]);
    }
  }
  if (kind == BERTH_OK) h->references++;
  if (kind == BERTH_OK) *out = h;
  if (h) berth__drop(h);
  pthread_mutex_unlock(&c->lock);
  return berth__leave(c, kind);
}

int berth_acquire(berth_client *c, const char *user, const berth_acquire_options *o,
                  berth_slot **slot, berth_error *e) {
  static const berth_acquire_options none;
  berth_slot wanted = {0};
  int kind = berth__enter(c, e);
  if (kind != BERTH_OK) return kind;
  if (!o) o = &none;
  wanted.client = c;
  wanted.license_id = o->license_id;
  wanted.on_loss = o->on_loss;
  wanted.data = o->loss_data;
  if (!berth__copy(wanted.user, sizeof wanted.user, user) || !wanted.user[0]
      || !berth__copy(wanted.user_info, sizeof wanted.user_info, o->user_info)
      || !(o->wait >= 0 && o->wait < 1e9) || o->license_id < 0) {
    return berth__leave(c, berth__invalid(e, "user must have 1 to 256 bytes, user_info at most "
                                          "4096; wait and license_id must not be negative"));
  }
  return berth__take(&wanted, o, slot, e);
}

int berth_feature_acquire(berth_slot *slot, const char *code, berth_loss_callback *on_loss,
                          void *data, berth_feature **feature, berth_error *e) {
  static const berth_acquire_options none;
  berth_client *c = slot->client;
  berth_slot wanted = {0}, *taken = NULL;
  int kind = berth__enter(c, e);
  if (kind != BERTH_OK) return kind;
  pthread_mutex_lock(&c->lock);
  wanted.license_id = slot->now.license_id;
  pthread_mutex_unlock(&c->lock);
  wanted.client = c;
  wanted.slot = slot;
  wanted.on_loss = on_loss;
  wanted.data = data;
  strcpy(wanted.user, slot->user);
  if (!berth__copy(wanted.feature, sizeof wanted.feature, code) || !wanted.feature[0]) {
    return berth__leave(c, berth__invalid(e, "code must have 1 to 256 bytes"));
  }
  kind = berth__take(&wanted, &none, &taken, e);
  *feature = (berth_feature *)taken;
  return kind;
}

int berth_slot_release(berth_slot *h, berth_error *e) {
  berth_client *c = h->client;
  int kind = berth__enter(c, e);
  if (kind != BERTH_OK) return kind;
  pthread_mutex_lock(&c->lock);
  while ((c->reporting == h && !berth__is_thread(c))
         || (h->references == 1 && (h->is_busy || berth__is_claimed(h)))) {
    berth__wait(c, 1);
  }
  h->references--;
  if (!h->references && h->is_held) {
    berth__end(h);
    if (!h->now.is_borrowed && !h->is_borrowed_here) {
      h->is_busy = 1;
      pthread_mutex_unlock(&c->lock);
      kind = berth__unregister(c, h, 5, 5, e);
      pthread_mutex_lock(&c->lock);
      h->is_busy = 0;
    }
  }
  if (c->reporting != h) berth__drop(h);
  pthread_mutex_unlock(&c->lock);
  return berth__leave(c, kind == BERTH_OK ? BERTH_OK : BERTH_UNAVAILABLE);
}

int berth_feature_release(berth_feature *feature, berth_error *e) {
  return berth_slot_release(&feature->slot, e);
}

int berth_slot_info(const berth_slot *h, berth_slot_information *info) {
  memset(info, 0, sizeof *info);
  if (h->client->pid != getpid()) return BERTH_INVALID_ARGUMENT;
  pthread_mutex_lock(&h->client->lock);
  info->license_id = h->now.license_id;
  strcpy(info->registered_at, h->now.registered_at);
  strcpy(info->expires_at, h->now.expires_at);
  info->is_borrowed = h->now.is_borrowed || h->is_borrowed_here;
  info->is_held = h->is_held && berth__now() < h->ends_at
               && (!h->slot || berth__now() < h->slot->ends_at);
  pthread_mutex_unlock(&h->client->lock);
  return BERTH_OK;
}

int berth_slot_is_held(const berth_slot *h) {
  berth_slot_information info;
  return berth_slot_info(h, &info) == BERTH_OK && info.is_held;
}

int berth_feature_is_held(const berth_feature *h) { return berth_slot_is_held(&h->slot); }

char *berth_slot_license(const berth_slot *h) {
  if (h->client->pid != getpid()) return NULL;
  pthread_mutex_lock(&h->client->lock);
  char *license = strdup(h->now.license);
  pthread_mutex_unlock(&h->client->lock);
  return license;
}

/* --- Calls about users --- */

/* Makes or checks an idempotency key. */
static int berth__choose_key(const char *wanted, char key[65], berth_error *e) {
  unsigned char random[16];
  size_t size = 0;
  if (!wanted && berth__random(random, sizeof random)) {
    berth__hex(random, sizeof random, key);
    return BERTH_OK;
  }
  while (wanted && wanted[size] > 0x20 && wanted[size] < 0x7F) size++;
  if (size > 0 && !wanted[size] && berth__copy(key, 65, wanted)) return BERTH_OK;
  return berth__invalid(e, "key must have 1 to 64 visible ASCII characters");
}

/* Makes a call that counts once by its key. */
static int berth__call_with_key(berth__request *r, const char *key, berth_error *e) {
  int kind = berth__call(r, e);
  if (kind != BERTH_UNAVAILABLE || !e) return kind;
  size_t size = strlen(e->message);
  strcpy(e->key, key);
  snprintf(e->message + size, sizeof e->message - size, "; it may have been done: repeat the call "
           "with the same key");
  return kind;
}

static int berth__read_borrow(const char *reply, void *out) {
  berth_borrowed *b = (berth_borrowed *)out;
  free(b->lease); /* of an earlier reply, which was not final */
  b->lease = NULL;
  return berth__read(reply, "titS", "user", b->user, sizeof b->user, "license_id", &b->license_id,
                     "borrowed_until", b->borrowed_until, sizeof b->borrowed_until, "lease",
                     &b->lease) && b->license_id >= 0;
}

static int berth__read_text(const char *reply, void *out) {
  free(*(char **)out);
  *(char **)out = strdup(reply);
  return *reply && *(char **)out;
}

int berth_borrow(berth_client *c, const char *user, const berth_borrow_options *o,
                 berth_borrowed *borrow, berth_error *e) {
  static const berth_borrow_options none;
  berth_slot claim = {.client = c};
  char id[24], key[65], path[840], *product;
  int kind = berth__enter(c, e);
  if (kind != BERTH_OK) return kind;
  if (!o) o = &none;
  memset(borrow, 0, sizeof *borrow);
  kind = berth__choose_key(o->key, key, e);
  if (!berth__copy(claim.user, sizeof claim.user, user) || !claim.user[0]) {
    kind = berth__invalid(e, "user must have 1 to 256 bytes");
  }
  if (!c->nonce[0]) kind = berth__invalid(e, "there is no machine id: give the option nonce");
  if (kind != BERTH_OK) return berth__leave(c, kind);
  berth__request r = {.client = c, .path = "/api/v4/borrow", .wait = -1, .retry_for = c->retry_for,
                      .nonce = c->nonce, .key = key, .read = berth__read_borrow, .out = borrow};
  r.body = berth__object("product", c->product, "user", user, "os_hostname", c->host, "license_id",
                         berth__digits_of(o->license_id, id), "borrowed_until", o->until, NULL);
  pthread_mutex_lock(&c->lock);
  berth__claim(&claim); /* else a release meanwhile could return the borrow */
  pthread_mutex_unlock(&c->lock);
  kind = berth__call_with_key(&r, key, e);
  pthread_mutex_lock(&c->lock);
  berth__unclaim(&claim);
  for (berth_slot *h = c->slots; h && kind == BERTH_OK && borrow->lease; h = h->next) {
    if (!strcmp(h->user, user) && !h->feature[0]) h->is_borrowed_here = 1;
  }
  pthread_mutex_unlock(&c->lock);
  if (kind == BERTH_OK) {
    product = curl_easy_escape(NULL, c->product, 0);
    snprintf(path, sizeof path, "/api/v4/license?license_id=%lld&product=%s", borrow->license_id,
             product ? product : "");
    curl_free(product);
    berth__request license = {.client = c, .path = path, .wait = -1, .retry_for = c->retry_for,
                              .accept = "application/jwt", .is_text = 1, .read = berth__read_text,
                              .out = &borrow->license};
    kind = berth__call_with_key(&license, key, e);
  }
  if (kind != BERTH_OK) berth_borrow_free(borrow);
  return berth__leave(c, kind);
}

void berth_borrow_free(berth_borrowed *borrow) {
  free(borrow->lease);
  free(borrow->license);
  memset(borrow, 0, sizeof *borrow);
}

int berth_release(berth_client *c, const char *user, berth_error *e) {
  berth_slot named = {.client = c}, *h;
  int kind = berth__enter(c, e);
  if (kind != BERTH_OK) return kind;
  if (!berth__copy(named.user, sizeof named.user, user) || !named.user[0]) {
    return berth__leave(c, berth__invalid(e, "user must have 1 to 256 bytes"));
  }
  pthread_mutex_lock(&c->lock);
  berth__claim(&named);
  for (h = c->slots; h; h = h->next) {
    if (!h->is_held || strcmp(h->user, user)) continue;
    h->is_returning = h->is_busy = 1;
    h->is_held = 0;
  }
  pthread_mutex_unlock(&c->lock);
  kind = berth__unregister(c, &named, c->timeout, c->retry_for, e);
  pthread_mutex_lock(&c->lock);
  berth__unclaim(&named);
  for (h = c->slots; h; h = h->next) {
    if (!h->is_returning || strcmp(h->user, user)) continue;
    h->is_returning = h->is_busy = 0;
    h->is_held = 1;
    if (kind == BERTH_OK) berth__end(h);
  }
  pthread_cond_broadcast(&c->changed);
  pthread_mutex_unlock(&c->lock);
  return berth__leave(c, kind);
}

static int berth__read_consumption(const char *reply, void *out) {
  berth_consumption *n = (berth_consumption *)out;
  n->maximum = -1; /* not that of an earlier reply, which was not final */
  return berth__read(reply, "iiI", "total_consumptions", &n->total, "license_id", &n->license_id,
                     "max_consumptions", &n->maximum) && n->license_id >= 0;
}

int berth_consume(berth_client *c, long long n, const berth_consume_options *o,
                  berth_consumption *out, berth_error *e) {
  static const berth_consume_options none;
  char count[24], id[24], overages[24] = "";
  int kind = berth__enter(c, e);
  if (kind != BERTH_OK) return kind;
  if (!o) o = &none;
  *out = (berth_consumption){.maximum = -1};
  kind = berth__choose_key(o->key, out->key, e);
  if (kind != BERTH_OK) return berth__leave(c, kind);
  snprintf(count, sizeof count, "%lld", n);
  if (o->max_overages) snprintf(overages, sizeof overages, "%lld", *o->max_overages);
  berth__request r = {.client = c, .wait = -1, .retry_for = c->retry_for, .key = out->key,
                      .read = berth__read_consumption, .out = out};
  r.path = o->feature ? "/api/v4/add_feature_consumption" : "/api/v4/add_consumption";
  r.body = berth__object("product", c->product, "consumptions", count, "feature", o->feature,
                         "user", o->user, "license_id", berth__digits_of(o->license_id, id),
                         "max_overages", overages, "allow_overages", o->allow_overages > 0 ? "true"
                         : o->allow_overages < 0 ? "false" : "", NULL);
  return berth__leave(c, berth__call_with_key(&r, out->key, e));
}

/* --- The lease check --- */

/* Decodes symbols of so many bits each, without stray symbols or bits. Returns the number of bytes;
 * -1: malformed, or there are more than the room. */
static long berth__decode(const char *text, size_t size, int width, unsigned char *out, long room) {
  static const char *const alphabets[] = {"0123456789abcdef", "0123456789ABCDEFGHJKMNPQRSTVWXYZ",
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"};
  const char *alphabet = alphabets[width - 4];
  unsigned bits = 0;
  int have = 0;
  long count = 0;
  for (; size > 0; size--, text++) {
    const char *symbol = *text ? strchr(alphabet, *text) : NULL;
    if (!symbol) return -1;
    bits = (bits << width | (unsigned)(symbol - alphabet)) & 0xFFFF;
    have += width;
    if (have < 8) continue;
    if (count == room) return -1;
    have -= 8;
    out[count++] = (unsigned char)(bits >> have);
  }
  return have < width && !(bits & ((1u << have) - 1)) ? count : -1;
}

#ifdef BERTH_WITH_OPENSSL
static void berth__sha256(const void *data, size_t size, unsigned char out[32], char hex[65]) {
  EVP_Digest(data, size, out, NULL, EVP_sha256(), NULL);
  berth__hex(out, 32, hex);
}

static int berth__is_signed(const unsigned char key[32], const void *text, size_t size,
                            const unsigned char signature[64]) {
  EVP_PKEY *public_key = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, key, 32);
  EVP_MD_CTX *context = EVP_MD_CTX_new();
  int is_signed = public_key && context
               && EVP_DigestVerifyInit(context, NULL, NULL, NULL, public_key) == 1
               && EVP_DigestVerify(context, signature, 64, (const unsigned char *)text, size) == 1;
  EVP_MD_CTX_free(context);
  EVP_PKEY_free(public_key);
  /* Under a key of small order, one signature fits any text. */
  return is_signed && memcmp(key + 1, key + 2, 29)
      && memcmp(key, "\x26\xe8\x95\x8f\xc2\xb2\x27\xb0", 8)
      && memcmp(key, "\xc7\x17\x6a\x70\x3d\x4d\xd8\x4f", 8);
}

typedef struct {
  char *header, *payload; /* JSON; header is to be freed in any case */
  const char *text;
  size_t signed_size;
  unsigned char signature[64];
} berth__document;

/* Reads a signed document of a type; 0: malformed. */
static int berth__open(berth__document *d, const char *text, const char *type) {
  const char *dot = strchr(text, '.'), *last = dot ? strchr(dot + 1, '.') : NULL;
  char algorithm[8], found[32];
  if (!last || strlen(text) > 49152) return 0;
  d->text = text;
  d->signed_size = (size_t)(last - text);
  d->header = (char *)calloc(2, d->signed_size);
  if (!d->header) return 0;
  d->payload = d->header + d->signed_size;
  unsigned char *places[2] = {(unsigned char *)d->header, (unsigned char *)d->payload};
  long room = (long)d->signed_size - 1;
  long header = berth__decode(text, (size_t)(dot - text), 6, places[0], room);
  long payload = berth__decode(dot + 1, (size_t)(last - dot - 1), 6, places[1], room);
  return header >= 0 && payload >= 0
      && berth__decode(last + 1, strlen(last + 1), 6, d->signature, 64) == 64
      && berth__is_object(d->header, (size_t)header, 1)
      && berth__is_object(d->payload, (size_t)payload, 1)
      && berth__read(d->header, "tt", "alg", algorithm, sizeof algorithm, "typ", found,
                     sizeof found)
      && !strcmp(algorithm, "EdDSA") && !strcmp(found, type) && !berth__find(d->header, "crit");
}

typedef struct { /* what the vendor granted */
  char appliance[17], lic[65], product[257], start[32], until[32];
  unsigned char key[32];
  long long license_id, serial, grace_hours, timeout_minutes, borrow_hours;
  int is_enabled;
} berth__grant;

static int berth__is_time(const char *text) {
  int year, month, day, hour, minute, second, end = 0;
  int count = sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2d%n", &year, &month, &day, &hour, &minute,
                     &second, &end);
  return count == 6 && end == 19 && text[strlen(text) - 1] == 'Z' && month >= 1 && month <= 12
      && day >= 1 && day <= 31 && hour < 24 && minute < 60 && second < 60;
}

/* Writes a time as text. Times are compared as texts, in whole seconds. */
static const char *berth__format_time(long long seconds, char out[32]) {
  time_t time = (time_t)(seconds > 0 ? seconds : 0); /* a year before 1000 is not 4 digits */
  struct tm parts;
  strftime(out, 32, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&time, &parts));
  return out;
}

/* Reads the terms of a license or policy, and the appliance's key at a path of `keys`. */
static int berth__read_grant(const char *terms, const char *keys, const char *path,
                             berth__grant *g) {
  const char *key = berth__find(keys, path);
  char type[8], curve[16], x[44];
  strcpy(g->start, "1970-01-01T00:00:00Z");
  strcpy(g->until, "9999-12-31T23:59:59Z");
  return berth__read(terms, "tbTTIiI", "terms.product", g->product, sizeof g->product,
                     "terms.enabled", &g->is_enabled, "terms.start", g->start, sizeof g->start,
                     "terms.valid_until", g->until, sizeof g->until, "terms.grace_hours",
                     &g->grace_hours, "terms.timeout_minutes", &g->timeout_minutes,
                     "terms.borrow_hours", &g->borrow_hours)
      && g->grace_hours >= 0 && g->grace_hours <= 1000000000
      && g->borrow_hours >= 0 && g->borrow_hours <= 1000000000
      && g->timeout_minutes >= 0 && g->timeout_minutes <= 1000000000
      && berth__is_time(g->start) && berth__is_time(g->until) && key
      && berth__read(key, "ttt", "kty", type, sizeof type, "crv", curve, sizeof curve, "x", x,
                     sizeof x)
      && !strcmp(type, "OKP") && !strcmp(curve, "Ed25519")
      && berth__decode(x, strlen(x), 6, g->key, 32) == 32;
}

static const char *berth__check_license(const berth_client *c, const char *text, berth__document *d,
                                        berth__grant *g) {
  unsigned char hash[32];
  if (!berth__open(d, text, "berth-license+jwt")
      || !berth__read_grant(d->payload, d->payload, "cnf.jwk", g)
      || !berth__read(d->payload, "tii", "appliance", g->appliance, sizeof g->appliance,
                      "license_id", &g->license_id, "serial", &g->serial)) {
    return "license_malformed";
  }
  berth__sha256(text, strlen(text), hash, g->lic);
  for (int i = 0; i < c->key_count; i++) {
    if (berth__is_signed(c->keys[i], text, d->signed_size, d->signature)) return NULL;
  }
  return "license_forged";
}

/* Turns a code into canonical symbols, without the check symbols of rows; returns their number. */
static size_t berth__canonical(const char *code, char *out, size_t room, int has_rows) {
  size_t size = 0, read = 0;
  for (; *code; code++) {
    char symbol = *code >= 'a' && *code <= 'z' ? (char)(*code - 'a' + 'A') : *code;
    if (!(symbol >= '0' && symbol <= '9') && !(symbol >= 'A' && symbol <= 'Z')) continue;
    int is_check = has_rows && (++read % 20 == 0 || read == 115);
    if (size == room) return 0;
    if (!is_check) out[size++] = strchr("IL", symbol) ? '1' : symbol == 'O' ? '0' : symbol;
  }
  return has_rows && read != 115 ? 0 : size;
}

/* Adds an item with its length to a text that the vendor signed. */
static void berth__frame(berth__buffer *b, const void *data, size_t size) {
  unsigned char length[4] = {0, 0, (unsigned char)(size >> 8), (unsigned char)size};
  berth__append(b, length, 4);
  berth__append(b, data, size);
}

typedef struct { /* a bundle: the proof of a license by code */
  char policy[49153], code[512], key[4096], initialization[256], prefix[11], nonce[11];
  long long version, kind;
} berth__bundle;

static const char *berth__check_bundle(const berth_client *c, const char *text, berth__bundle *b,
                                       berth__document *d, berth__buffer *proof, berth__grant *g) {
  char symbols[115], initial[32], hex[65];
  unsigned char appliance[10], prefix[5], nonce[5], code[68], hash[32], kind;
  if (!berth__is_object(text, strlen(text), 1)
      || !berth__read(text, "iittttttt", "version", &b->version, "kind", &b->kind, "policy",
                      b->policy, sizeof b->policy, "confirmation_code", b->code, sizeof b->code,
                      "license_key", b->key, sizeof b->key, "initialization_code",
                      b->initialization, sizeof b->initialization, "hardware_prefix", b->prefix,
                      sizeof b->prefix, "nonce", b->nonce, sizeof b->nonce, "appliance_id",
                      g->appliance, sizeof g->appliance)
      || b->version != 2 || b->kind < 1 || b->kind > 2
      || berth__decode(g->appliance, strlen(g->appliance), 5, appliance, 10) != 10
      || berth__decode(b->prefix, strlen(b->prefix), 4, prefix, 5) != 5
      || berth__decode(b->nonce, strlen(b->nonce), 4, nonce, 5) != 5
      || berth__canonical(b->code, symbols, sizeof symbols, 1) != 109
      || berth__decode(symbols, 109, 5, code, 68) != 68
      || !berth__open(d, b->policy, "berth-policy+jwt")
      || !berth__read_grant(d->payload, text, "appliance_jwk", g)) return "license_malformed";
  kind = (unsigned char)b->kind;
  berth__frame(proof, "berth-confirm-v2", 16);
  berth__frame(proof, &kind, 1);
  berth__frame(proof, appliance, 10);
  berth__frame(proof, prefix, 5);
  berth__frame(proof, nonce, 5);
  berth__frame(proof, b->key, strlen(b->key));
  berth__sha256(b->policy, strlen(b->policy), hash, hex);
  berth__frame(proof, hash, 32);
  berth__frame(proof, initial, berth__canonical(b->initialization, initial, sizeof initial, 0));
  berth__frame(proof, code + 64, 4);
  berth__sha256(g->key, 32, hash, hex);
  if (proof->has_failed || memcmp(hash, appliance, 10)) return "license_forged";
  berth__sha256(code, 68, hash, g->lic);
  g->serial = code[66] << 8 | code[67];
  int days = code[64] << 8 | code[65]; /* 0: the end is that of the policy */
  if (days) berth__format_time(86400LL * days, g->until);
  for (int i = 0; i < c->key_count; i++) {
    if (!berth__is_signed(c->keys[i], proof->data, proof->size, code)
        || !berth__is_signed(c->keys[i], d->text, d->signed_size, d->signature)) continue;
    proof->size = 0;
    berth__append(proof, c->keys[i], 32);
    berth__append(proof, b->key, strlen(b->key));
    berth__sha256(proof->data, proof->size, hash, hex);
    hex[13] = '\0';
    g->license_id = strtoll(hex, NULL, 16);
    return NULL;
  }
  return "license_forged";
}

static const char *berth__check_lease(const berth_client *c, const char *lease,
                                      const berth__grant *g, berth__document *d, berth_lease *out) {
  char iss[32], kid[32], lic[80], nonce[132] = "", now_text[32], end_text[32], exp_text[32];
  long long iat, exp, now = (long long)time(NULL), grace = 3600 * g->grace_hours, longest;
  if (!berth__open(d, lease, "berth-lease+jwt")
      || !berth__read(d->header, "t", "kid", kid, sizeof kid)
      || !berth__read(d->payload, "tttiitiiT", "iss", iss, sizeof iss, "sub", out->user,
                      sizeof out->user, "aud", out->product, sizeof out->product, "license_id",
                      &out->license_id, "serial", &out->serial, "lic", lic, sizeof lic, "iat", &iat,
                      "exp", &exp, "nonce", nonce, sizeof nonce)
      || iat < 0 || exp < 0 || exp > 253402300799LL) return "lease_malformed";
  longest = 60 * g->timeout_minutes;
  if (longest < 3600 * g->borrow_hours) longest = 3600 * g->borrow_hours;
  berth__format_time(now + 60, now_text); /* clocks may differ by 60 seconds */
  berth__format_time(now - 60 - grace, end_text);
  berth__format_time(exp - grace, exp_text);
  berth__format_time(exp, out->expires_at);
  const struct {
    int is_broken;
    const char *code;
  } rules[] = {
    {!berth__is_signed(g->key, lease, d->signed_size, d->signature), "lease_forged"},
    {strcmp(iss, g->appliance) || strcmp(kid, g->appliance), "lease_forged"},
    {strcmp(g->product, c->product) || strcmp(out->product, c->product), "other_product"},
    {!g->is_enabled, "license_disabled"},
    {strncmp(g->start, now_text, 19) > 0, "license_not_started"},
    {strncmp(end_text, g->until, 19) >= 0, "license_ended"},
    {now >= exp + 60, "lease_expired"},
    {strncmp(exp_text, g->until, 19) > 0, "lease_outlasts_license"},
    {exp - iat > longest + 60, "lease_too_long"},
    {iat > now + 60, "lease_not_started"},
    {out->license_id != g->license_id || out->serial != g->serial, "other_license"},
    {strcmp(lic, g->lic) != 0, "other_license"},
    {strcmp(nonce, c->nonce) != 0, "other_device"}};
  for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
    if (rules[i].is_broken) return rules[i].code;
  }
  return NULL;
}
#endif

int berth_verify(berth_client *c, const char *lease, const char *license, berth_lease *out,
                 berth_error *e) {
  const char *code = "verify_unavailable";
  int kind = berth__enter(c, e);
  if (kind != BERTH_OK) return kind;
  memset(out, 0, sizeof *out);
  if (!lease || !license || !c->key_count) {
    return berth__leave(c, berth__invalid(e, "lease, license and option vendor_keys are needed"));
  }
#ifdef BERTH_WITH_OPENSSL
  berth__grant granted = {0};
  berth__document licensed = {0}, leased = {0};
  berth__buffer proof = {0};
  berth__bundle *bundle = (berth__bundle *)calloc(1, sizeof *bundle);
  code = !bundle ? "license_malformed"
       : *license == '{' ? berth__check_bundle(c, license, bundle, &licensed, &proof, &granted)
                         : berth__check_license(c, license, &licensed, &granted);
  if (!code) code = berth__check_lease(c, lease, &granted, &leased, out);
  free(bundle);
  free(proof.data);
  free(licensed.header);
  free(leased.header);
#endif
  const char *hint = code && !strcmp(code, "verify_unavailable")
                   ? "compile the program with BERTH_WITH_OPENSSL" : "borrow again";
  if (code) memset(out, 0, sizeof *out);
  if (code) kind = berth__fail(e, BERTH_LEASE_REFUSED, code, "lease refused: %s; %s", code, hint);
  return berth__leave(c, kind);
}

/* --- The client --- */

/* Waits for the calls and for the thread, and releases the slots. 0 seconds: without a limit; else
 * half of the time is for the releases, whatever the calls and an on_loss do. */
static void berth__close(berth_client *c, double seconds) {
  int is_answering = 1; /* else further releases would only take time */
  pthread_mutex_lock(&c->lock);
  c->is_closing = 1;
  if (seconds > 0) c->give_up_at = berth__now() + seconds;
  pthread_cond_broadcast(&c->changed);
  while ((c->calls > 0 || (c->has_thread && !c->has_thread_ended && !berth__is_thread(c)))
         && (seconds <= 0 || berth__now() < c->give_up_at - seconds / 2)) berth__wait(c, 1);
  if (c->has_thread_ended) c->has_thread = pthread_join(c->thread, NULL) != 0;
  for (berth_slot *h = c->slots; h; h = h->next) {
    if (h->feature[0] || !h->is_held || h->is_busy) continue;
    berth__end(h);
    if (h->now.is_borrowed || h->is_borrowed_here || !is_answering) continue;
    h->is_busy = 1; /* at exit, calls of other threads may still run */
    pthread_mutex_unlock(&c->lock);
    int kind = berth__unregister(c, h, 5, 5, NULL);
    is_answering = kind == BERTH_OK || kind == BERTH_REFUSED;
    pthread_mutex_lock(&c->lock);
    h->is_busy = 0;
    pthread_cond_broadcast(&c->changed);
  }
  pthread_mutex_unlock(&c->lock);
}

static void berth__at_exit(void) {
  double end = berth__now() + 3;
  pthread_mutex_lock(&berth__clients_lock);
  for (berth_client *c = berth__clients; c; c = c->next) {
    double left = end - berth__now();
    berth__close(c, left > 0.1 ? left : 0.1);
  }
  pthread_mutex_unlock(&berth__clients_lock);
}

/* The child of fork has no clients, and the lock may be held by a thread that it does not have. */
static void berth__after_fork(void) {
  berth__clients = NULL;
  pthread_mutex_init(&berth__clients_lock, NULL);
}

static void berth__initialize(void) {
  curl_global_init(CURL_GLOBAL_DEFAULT);
  pthread_atfork(NULL, NULL, berth__after_fork);
  atexit(berth__at_exit); /* runs before what libcurl has registered */
}

void berth_client_free(berth_client *c) {
  berth_client **at = &berth__clients;
  if (!c || c->pid != getpid()) return;
  pthread_mutex_lock(&berth__clients_lock);
  while (*at && *at != c) at = &(*at)->next;
  if (*at) *at = c->next;
  pthread_mutex_unlock(&berth__clients_lock);
  berth__close(c, 0);
  for (berth_slot *h = c->slots, *next; h; h = next) {
    next = h->next;
    free(h->now.license);
    free(h);
  }
  pthread_cond_destroy(&c->changed);
  pthread_mutex_destroy(&c->lock);
  free(c);
}

/* Takes the next text of a list that is separated by commas; 0: there is none. */
static int berth__next_text(const char **list, char out[600]) {
  size_t size = *list ? strcspn(*list, ",") : 0;
  if (!*list || !**list) return 0;
  snprintf(out, 600, "%.*s", (int)size, *list);
  *list += size + ((*list)[size] == ',');
  return 1;
}

static int berth__add_url(berth_client *c, char *url) {
  size_t host = !strncmp(url, "http://", 7) ? 7 : !strncmp(url, "https://", 8) ? 8 : 0;
  size_t size = strlen(url);
  while (size > host && url[size - 1] == '/') url[--size] = '\0';
  return host && c->server_count < 8 && !strchr("/:", url[host]) && !strpbrk(url, "@?# \t\r\n\"\\")
      && berth__copy(c->servers[c->server_count++].url, sizeof c->servers[0].url, url);
}

/* Chooses the default nonce: a digest of the machine id. */
static void berth__choose_nonce(berth_client *c) {
#ifdef BERTH_WITH_OPENSSL
  static const char *const files[] = {"/etc/machine-id", "/var/lib/dbus/machine-id"};
  char text[160] = "berth-device-v1:";
  unsigned char hash[32];
  for (int i = 0; i < 2 && !c->nonce[0]; i++) {
    FILE *file = fopen(files[i], "r");
    int has_id = file && fscanf(file, "%127s", text + 16) == 1;
    if (has_id) berth__sha256(text, strlen(text), hash, c->nonce);
    if (file) fclose(file);
  }
#else
  (void)c;
#endif
}

/* Returns what is wrong with the options; NULL: nothing. */
static const char *berth__configure(berth_client *c, const berth_options *o) {
  static const char legal[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._~-";
  char text[600];
  for (const char *list = o->urls; berth__next_text(&list, text);) {
    if (!berth__add_url(c, text)) return "each of up to 8 urls must be http://HOST or https://HOST";
  }
  for (const char *list = o->vendor_keys; berth__next_text(&list, text); c->key_count++) {
    unsigned char *key = c->key_count < 8 ? c->keys[c->key_count] : NULL;
    if (!key || berth__decode(text, strlen(text), 6, key, 32) != 32) {
      return "each of up to 8 vendor_keys must be a text `x` of 43 characters";
    }
  }
  if (!c->server_count) return "urls must have at least one URL";
  if (!berth__copy(c->product, sizeof c->product, o->product) || !c->product[0]) {
    return "product must have 1 to 256 bytes";
  }
  c->timeout = o->timeout == 0 ? 15 : o->timeout;
  c->retry_for = o->retry_for != 0 ? o->retry_for : c->server_count > 1 ? 30 : 10;
  if (!(c->timeout > 0 && c->timeout < 1e6)) return "timeout must be positive";
  if (!(c->retry_for < 1e9)) return "retry_for must be a number of seconds";
  const char *password = o->login_password ? o->login_password : "";
  if (o->login_name && snprintf(c->login, sizeof c->login, "%s:%s", o->login_name, password)
      >= (int)sizeof c->login) return "login_name or login_password is too long";
  if (!berth__copy(c->nonce, sizeof c->nonce, o->nonce)
      || (o->nonce && (strlen(o->nonce) < 16 || o->nonce[strspn(o->nonce, legal)]))) {
    return "nonce must have 16 to 128 characters of A-Z a-z 0-9 . _ ~ -";
  }
  if (o->ca && (access(o->ca, R_OK) || !berth__copy(c->ca, sizeof c->ca, o->ca))) return o->ca;
  if (o->certificate && (access(o->certificate, R_OK) || !berth__copy(c->certificate,
      sizeof c->certificate, o->certificate))) return o->certificate;
  return NULL;
}

int berth_client_new(const berth_options *o, berth_client **client, berth_error *e) {
  pthread_condattr_t attributes;
  berth_client *c = (berth_client *)calloc(1, sizeof *c);
  *client = NULL;
  if (!c) return berth__fail(e, BERTH_OUT_OF_MEMORY, "out_of_memory", "out of memory");
  const char *problem = berth__configure(c, o);
  if (problem) {
    int is_file = problem == o->ca || problem == o->certificate;
    free(c);
    return berth__fail(e, BERTH_INVALID_ARGUMENT, "invalid_argument",
                       is_file ? "the file %s cannot be read" : "%s", problem);
  }
  if (!c->nonce[0]) berth__choose_nonce(c);
  gethostname(c->host, sizeof c->host - 1);
  c->pid = getpid();
  pthread_mutex_init(&c->lock, NULL);
  pthread_condattr_init(&attributes);
#ifndef __APPLE__
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
#endif
  pthread_cond_init(&c->changed, &attributes);
  pthread_condattr_destroy(&attributes);
  pthread_once(&berth__once, berth__initialize);
  pthread_mutex_lock(&berth__clients_lock);
  c->next = berth__clients;
  berth__clients = c;
  pthread_mutex_unlock(&berth__clients_lock);
  *client = c;
  return berth__fail(e, BERTH_OK, "", "%s", "");
}
#endif
