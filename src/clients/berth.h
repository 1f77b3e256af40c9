/* berth.h: client of the Berth license server for C99. One file; needs libcurl and POSIX threads.
 *
 * In one C file, before any other #include:   #define BERTH_IMPLEMENTATION
 * For berth_verify and the default nonce:     #define BERTH_WITH_OPENSSL   (link with -lcrypto)
 * In this and in all other files, also C++:   #include "berth.h"           (link with -lcurl -pthread)
 *
 *   berth_options options = {.urls = "https://a.lan:8443,https://b.lan:8443", .product = "CAD"};
 *   if (berth_client_new(&options, &client, &error)) return show(error.message);
 *   if (berth_acquire(client, "ada@ws-17", NULL, &slot, &error)) return show(error.message);
 *   ... work; a thread of the client renews the slot ...
 *   berth_slot_release(slot, NULL);
 *   berth_client_free(client);
 *
 * Every call returns a berth_kind; BERTH_OK is 0. `error` may be NULL, and so may `options` of a
 * call. Any thread may make any call. While no server answers, a slot is held until its time-out;
 * then on_loss is called. In a child of fork no slot is held, and calls fail with `forked`.
 * exit() releases the slots, in 3 seconds at most; a killed process leaves them to the time-out. */
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
  char key[65];        /* BERTH_UNAVAILABLE of borrow and consume: repeat them with this key */
} berth_error;

typedef struct berth_client berth_client;
typedef struct berth_slot berth_slot;
typedef struct berth_feature berth_feature;

/* Called once when a slot is lost, by the client's thread. It may call the client, except
 * berth_client_free. It should return soon: no slot is renewed meanwhile. */
typedef void berth_loss_callback(void *data, const char *user, const berth_error *error);
/* Called while berth_acquire waits, in the same thread. Position 1 gets the next slot. */
typedef void berth_wait_callback(void *data, int position, int length);

typedef struct { /* of a client; zero or NULL: the default */
  const char *urls, *product;               /* up to 8 URLs of one server, separated by commas */
  const char *ca;                           /* PEM file of the only CA to trust */
  const char *certificate;                  /* PEM file: client certificate and its key */
  const char *login_name, *login_password;
  double timeout;                           /* seconds for one HTTP exchange; default 15 */
  double retry_for; /* seconds; default 30, with one URL 10; negative: try each server once */
  const char *nonce;                        /* of this device; default: by the machine id */
  const char *vendor_keys;                  /* up to 8 texts `x`, separated by commas */
} berth_options;

typedef struct {
  double wait;           /* seconds to wait for a free slot */
  long long license_id;  /* 0: the server chooses */
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
  const char *until; /* RFC 3339; NULL: as long as allowed */
  const char *key;   /* idempotency key; NULL: one is made */
  long long license_id;
} berth_borrow_options;

typedef struct {
  char user[257], borrowed_until[32];
  long long license_id;
  char *lease, *license; /* for berth_verify: keep both */
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

/* Makes no network call. */
int berth_client_new(const berth_options *, berth_client **, berth_error *);
/* Waits for calls in progress, releases all slots that are not borrowed, and frees the client
 * with its slots and features: none of them may be used any more. */
void berth_client_free(berth_client *);
/* Takes a slot. The same user and license_id again in one client share it. */
int berth_acquire(berth_client *, const char *user, const berth_acquire_options *, berth_slot **,
                  berth_error *);
int berth_slot_is_held(const berth_slot *);
int berth_slot_info(const berth_slot *, berth_slot_information *);
char *berth_slot_license(const berth_slot *); /* JSON text; free() it; NULL: out of memory */
/* Releases the slot unless it is borrowed, and frees the handle. BERTH_UNAVAILABLE: the server did
 * not confirm; the slot ends by its time-out. */
int berth_slot_release(berth_slot *, berth_error *);
/* Takes a slot of a floating feature. It ends with the user's slot at the latest. */
int berth_feature_acquire(berth_slot *, const char *code, berth_loss_callback *, void *data,
                          berth_feature **, berth_error *);
int berth_feature_is_held(const berth_feature *);
int berth_feature_release(berth_feature *, berth_error *); /* frees it, as berth_slot_release */
int berth_borrow(berth_client *, const char *user, const berth_borrow_options *, berth_borrowed *,
                 berth_error *);
void berth_borrow_free(berth_borrowed *);
/* Returns the user's borrow, or releases the user's slot. */
int berth_release(berth_client *, const char *user, berth_error *);
/* Counts n once, however often it has to be sent. */
int berth_consume(berth_client *, long long n, const berth_consume_options *, berth_consumption *,
                  berth_error *);
/* Checks a lease and its license with the vendor's key; makes no network call. */
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
#include <ctype.h>
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

#define BERTH__LARGEST_REPLY (1024 * 1024)
#define BERTH__DEPTH 64 /* of nested JSON */
#define BERTH__LEEWAY 60 /* seconds that two clocks may differ */

typedef struct {
  char *data; /* ends with NUL */
  size_t size, room;
  int has_failed;
} berth__buffer;

typedef struct { /* a call, with the last reply to it */
  berth_client *client;
  const char *path, *accept, *nonce, *key;
  char *body;                                 /* NULL: GET */
  int (*read)(const char *reply, void *out);  /* 0: malformed; NULL: any reply will do */
  void *out;
  int wait; /* for `Prefer: wait`; -1: not sent */
  int is_text, is_login, is_cancellable, is_release, has_new_login, queue_length;
  double timeout, retry_for, sent_at;
  long status;
  berth__buffer reply;
  char appliance[64], request_id[64], retry_after[16], preference[32];
} berth__request;

typedef struct { /* the last reply to register or featureRegister */
  long long license_id;
  char registered_at[32], expires_at[32];
  int is_borrowed;
  double minutes;
  char *license;
} berth__registration;

typedef enum { BERTH__ACQUIRING, BERTH__HELD, BERTH__RELEASING, BERTH__ENDED } berth__state;

/* A slot of a user or of a feature, shared by handles. Changes only with the client's lock. */
typedef struct berth__holding {
  struct berth__holding *next, *slot; /* slot: of a feature, the user's slot */
  berth_slot *handles;
  berth__state state;
  int is_renewing, is_borrowed_here, failures;
  double ends_at, renew_at;
  long long license_id; /* that the caller wants; 0: any */
  char user[257], feature[257], user_info[4097];
  berth__registration now;
  berth_error loss;
} berth__holding;

struct berth_slot { /* a handle */
  berth_slot *next;
  berth_client *client;
  berth__holding *holding;
  berth_loss_callback *on_loss;
  void *data;
  int is_loss_due;
};
struct berth_feature {
  berth_slot handle;
};

struct berth_client {
  pthread_mutex_t lock; /* never held during a request or a callback */
  pthread_cond_t changed;
  pthread_t thread;
  pid_t pid;
  int has_thread, is_closing, calls, server_count, current, key_count;
  double timeout, retry_for, give_up_at; /* give_up_at: the end of all calls, at exit; else 0 */
  struct {
    char url[512], token[512];
    int has_answered;
  } servers[8];
  char appliance[64], product[257], ca[1024], certificate[1024], name[257], password[257];
  char nonce[129], host[257];
  unsigned char keys[8][32];
  berth__holding *holdings;
  berth_slot *reporting; /* its on_loss is being called */
  berth_client *next;
};

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
  if (from && strlen(from) >= room) return 0;
  strcpy(to, from ? from : "");
  return 1;
}

static void berth__append(berth__buffer *b, const void *data, size_t size) {
  if (b->size + size + 1 > b->room) {
    size_t room = 2 * b->room + size + 64;
    char *grown = (char *)realloc(b->data, room);
    b->has_failed |= !grown;
    if (!grown) return;
    b->data = grown;
    b->room = room;
  }
  memcpy(b->data + b->size, data, size);
  b->size += size;
  b->data[b->size] = '\0';
}

/* --- JSON: a text is checked once as a whole; then values are found by pointers into it. --- */

static int berth__is_unicode_escape(const char *p, unsigned *code) {
  if (p[0] != '\\' || p[1] != 'u' || strspn(p + 2, "0123456789abcdefABCDEF") < 4) return 0;
  return sscanf(p + 2, "%4x", code) == 1;
}

/* Moves over one character of a string and writes it to out[4]. Returns its size; 0: invalid. */
static int berth__character(const char **at, char *out) {
  static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
  const char *p = *at, *name = *p == '\\' && p[1] ? strchr(names, p[1]) : NULL;
  unsigned code = (unsigned char)*p, low;
  int size = code < 0xC0 ? 1 : code < 0xE0 ? 2 : code < 0xF0 ? 3 : 4, i;
  *at += name ? 2 : size;
  *out = name ? values[name - names] : *p;
  if (name || (code < 0x80 && *p != '\\')) return code >= 0x20;
  if (*p != '\\') {
    for (code &= 0xFFu >> size, i = 1; i < size; i++) {
      if (((unsigned char)p[i] & 0xC0) != 0x80) return 0;
      code = code << 6 | ((unsigned char)p[i] & 0x3F);
    }
    if (size == 1 || code < (size == 2 ? 0x80u : size == 3 ? 0x800u : 0x10000u)) return 0;
    if (code >> 11 == 0x1B || code > 0x10FFFF) return 0;
  } else {
    if (!berth__is_unicode_escape(p, &code)) return 0;
    *at += 5;
    if (code >> 10 == 0x36 && berth__is_unicode_escape(p + 6, &low) && low >> 10 == 0x37) {
      code = 0x10000 + ((code & 0x3FF) << 10) + (low & 0x3FF);
      *at += 6;
    }
    if (code == 0 || code >> 11 == 0x1B) code = 0xFFFD; /* no character of a text in C */
  }
  size = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  for (i = size - 1; i > 0; i--, code >>= 6) out[i] = (char)(0x80 | (code & 0x3F));
  out[0] = (char)(size == 1 ? code : (0xF00u >> size & 0xFF) | code);
  return size;
}

static const char *berth__space(const char *p) { return p + strspn(p, " \t\r\n"); }

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
  double value = 0, sign = *p == '-' ? -1 : 1;
  int exponent = 0, power = 0, direction = 1;
  p += *p == '-';
  if (!isdigit((unsigned char)*p) || (*p == '0' && isdigit((unsigned char)p[1]))) return NULL;
  while (isdigit((unsigned char)*p)) value = value * 10 + (*p++ - '0');
  if (*p == '.') {
    if (!isdigit((unsigned char)*++p)) return NULL;
    for (; isdigit((unsigned char)*p); exponent--) value = value * 10 + (*p++ - '0');
  }
  if (*p == 'e' || *p == 'E') {
    direction = p[1] == '-' ? -1 : 1;
    p += p[1] == '-' || p[1] == '+' ? 2 : 1;
    if (!isdigit((unsigned char)*p)) return NULL;
    while (isdigit((unsigned char)*p)) power = power < 999 ? power * 10 + (*p++ - '0') : (p++, 999);
  }
  for (exponent += direction * power; exponent > 0 && value < 1e300; exponent--) value *= 10;
  for (; exponent < 0 && value > 0; exponent++) value /= 10;
  *out = sign * value;
  return p;
}

static const char *berth__skip(const char *p, int depth, int is_strict);

/* Finds a member in a checked object, from its first key on and before `end`; the last one counts. */
static const char *berth__member(const char *p, const char *end, const char *name, size_t size) {
  const char *found = NULL;
  while (*p == '"' && p != end) {
    int is_same = !strncmp(p + 1, name, size) && p[1 + size] == '"';
    p = berth__space(berth__space(berth__skip_string(p)) + 1);
    if (is_same) found = p;
    p = berth__space(berth__skip(p, BERTH__DEPTH, 0));
    if (*p == ',') p = berth__space(p + 1);
  }
  return found;
}

/* Returns the end of a value; NULL: malformed. Strict: no key is repeated or has an escape. */
static const char *berth__skip(const char *p, int depth, int is_strict) {
  char close = *p == '{' ? '}' : ']';
  const char *first, *key;
  double unused;
  if (*p == '"') return berth__skip_string(p);
  if (!strncmp(p, "true", 4) || !strncmp(p, "null", 4)) return p + 4;
  if (!strncmp(p, "false", 5)) return p + 5;
  if (*p != '{' && *p != '[') return berth__number(p, &unused);
  first = p = berth__space(p + 1);
  if (*p == close) return p + 1;
  for (; depth > 0; p = berth__space(p + 1)) {
    if (close == '}') {
      key = p;
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
  p = *p == '{' ? berth__skip(p, BERTH__DEPTH, is_strict) : NULL;
  return p && berth__space(p) == text + size;
}

/* Finds a value in a checked object by a path such as "queue.position"; NULL: absent. */
static const char *berth__find(const char *json, const char *path) {
  for (; json && *path; path += *path == '.') {
    size_t size = strcspn(path, ".");
    json = berth__space(json);
    json = *json == '{' ? berth__member(berth__space(json + 1), NULL, path, size) : NULL;
    path += size;
  }
  return json;
}

/* Returns a string's text, to be freed; NULL: not a string, or no memory. */
static char *berth__text(const char *value) {
  size_t room = *value == '"' ? (size_t)(berth__skip_string(value) - value) : 0, size = 0;
  char *text = room ? (char *)calloc(1, room) : NULL;
  if (!text) return NULL;
  for (value++; *value != '"';) size += (size_t)berth__character(&value, text + size);
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
    int type = tolower((unsigned char)*types);
    size_t room = type == 't' ? va_arg(list, size_t) : 0;
    double number = 0;
    char *text = NULL;
    if ((!value || *value == 'n') && type != *types) continue;
    if (value && (type == 's' || type == 't')) text = berth__text(value);
    if (!value) {
      is_good = 0;
    } else if (type == 'b') {
      *(int *)place = *value == 't';
      is_good = *value == 't' || *value == 'f';
    } else if (type == 'i' || type == 'n') {
      is_good = berth__number(value, &number) && number > -9007199254740992.0
             && number < 9007199254740992.0;
      if (is_good && type == 'n') *(double *)place = number;
      if (is_good && type == 'i') *(long long *)place = (long long)number;
      if (is_good && type == 'i') is_good = (double)*(long long *)place == number;
    } else if (type == 't') {
      is_good = text && berth__copy((char *)place, room, text);
      free(text);
    } else {
      free(*(char **)place);
      *(char **)place = text;
      is_good = text != NULL;
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
    snprintf(escape, sizeof escape, is_plain ? "%c" : "\\u%04x", *text);
    berth__append(b, escape, strlen(escape));
  }
  berth__append(b, "\"", 1);
}

/* Makes an object of pairs of name and text, up to the name NULL, and leaves out empty ones. The
 * result is to be freed; NULL: no memory. */
static char *berth__object(const char *name, ...) {
  berth__buffer b = {NULL, 0, 0, 0};
  va_list list;
  va_start(list, name);
  berth__append(&b, "{", 1);
  for (; name; name = va_arg(list, const char *)) {
    const char *text = va_arg(list, const char *);
    if (!text || !*text) continue;
    if (b.size > 1) berth__append(&b, ",", 1);
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

/* Waits for a change, with the lock, and 1 second at most: the time in which the machine sleeps
 * does not count here. */
static void berth__wait(berth_client *c, double seconds) {
  struct timespec t = {0, 0};
  long nanoseconds = seconds >= 1 ? 999999999L : seconds > 0 ? (long)(seconds * 1e9) : 0;
#ifdef __APPLE__
  t.tv_nsec = nanoseconds;
  pthread_cond_timedwait_relative_np(&c->changed, &c->lock, &t);
#else
  clock_gettime(CLOCK_MONOTONIC, &t);
  nanoseconds += t.tv_nsec;
  t.tv_sec += nanoseconds / 1000000000L;
  t.tv_nsec = nanoseconds % 1000000000L;
  pthread_cond_timedwait(&c->changed, &c->lock, &t);
#endif
}

static void berth__hex(const unsigned char *bytes, size_t size, char *out) {
  for (; size-- > 0; out += 2) snprintf(out, 3, "%02x", *bytes++);
}

static int berth__random(unsigned char *out, size_t size) {
  FILE *file = fopen("/dev/urandom", "rb");
  int is_good = file && fread(out, 1, size, file) == size;
  if (file) fclose(file);
  return is_good;
}

/* Changes a time by a random part, up to the share of it, so that clients do not call together. */
static double berth__jitter(double seconds, double share) {
  unsigned char random = 128;
  berth__random(&random, 1);
  return seconds * (1 + share * (random / 127.5 - 1));
}

/* --- HTTP --- */

static int berth__must_stop(const berth__request *r) {
  berth_client *c = r->client;
  int must_stop;
  pthread_mutex_lock(&c->lock);
  must_stop = (c->is_closing && r->is_cancellable)
           || (c->give_up_at > 0 && berth__now() > c->give_up_at);
  pthread_mutex_unlock(&c->lock);
  return must_stop;
}

static int berth__on_progress(void *r, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d) {
  return a + b + c + d < 0 || berth__must_stop((const berth__request *)r);
}

static size_t berth__on_body(char *data, size_t one, size_t size, void *request) {
  berth__request *r = (berth__request *)request;
  if (one * size + r->reply.size > BERTH__LARGEST_REPLY) return 0;
  berth__append(&r->reply, data, size);
  return r->reply.has_failed ? 0 : size;
}

static size_t berth__on_header(char *line, size_t one, size_t size, void *request) {
  static const char *const names[] = {"Berth-Appliance:", "X-Request-Id:", "Retry-After:",
                                      "Preference-Applied:"};
  berth__request *r = (berth__request *)request;
  char *places[] = {r->appliance, r->request_id, r->retry_after, r->preference};
  const size_t rooms[] = {sizeof r->appliance, sizeof r->request_id, sizeof r->retry_after,
                          sizeof r->preference};
  size_t i, start, end;
  for (i = 0; i < 4; i++) {
    start = strlen(names[i]);
    if (size < start || strncasecmp(line, names[i], start)) continue;
    for (end = size; end > start && isspace((unsigned char)line[end - 1]);) end--;
    while (start < end && isspace((unsigned char)line[start])) start++;
    snprintf(places[i], rooms[i], "%.*s", (int)(end - start), line + start);
  }
  return one * size;
}

/* Sends a request to one server; `problem` says why there is no whole reply. */
static CURLcode berth__exchange(berth__request *r, const char *url, const char *token, int wait,
                                char problem[CURL_ERROR_SIZE]) {
  berth_client *c = r->client;
  CURL *curl = curl_easy_init();
  CURLcode result = CURLE_OUT_OF_MEMORY;
  struct curl_slist *headers = NULL, *longer;
  double timeout = (r->timeout > 0 ? r->timeout : c->timeout) + (wait > 0 ? wait : 0);
  char line[7][600] = {"Expect:"}, address[1400];
  int i, count = 1;
  if (r->body) snprintf(line[count++], 600, "Content-Type: application/json");
  if (r->accept) snprintf(line[count++], 600, "Accept: %s", r->accept);
  if (r->nonce) snprintf(line[count++], 600, "X-Nonce: %s", r->nonce);
  if (r->key) snprintf(line[count++], 600, "Idempotency-Key: %s", r->key);
  if (*token) snprintf(line[count++], 600, "Authorization: Bearer %s", token);
  if (wait >= 0) snprintf(line[count++], 600, "Prefer: wait=%d", wait);
  for (i = 0; i < count; i++) {
    longer = curl_slist_append(headers, line[i]);
    if (longer) headers = longer;
  }
  snprintf(address, sizeof address, "%s%s", url, r->path);
  r->appliance[0] = r->request_id[0] = r->retry_after[0] = r->preference[0] = problem[0] = '\0';
  r->reply.size = 0;
  r->status = 0;
  berth__append(&r->reply, "", 0);
  r->sent_at = berth__now();
  if (curl && headers && r->reply.data) {
    curl_easy_setopt(curl, CURLOPT_URL, address);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_PROXY, "");
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
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
    if (r->is_login) curl_easy_setopt(curl, CURLOPT_USERNAME, c->name);
    if (r->is_login) curl_easy_setopt(curl, CURLOPT_PASSWORD, c->password);
    if (c->ca[0]) curl_easy_setopt(curl, CURLOPT_CAINFO, c->ca);
    if (c->ca[0]) curl_easy_setopt(curl, CURLOPT_CAPATH, NULL); /* else system CAs count too */
    if (c->certificate[0]) curl_easy_setopt(curl, CURLOPT_SSLCERT, c->certificate);
    if (c->certificate[0]) curl_easy_setopt(curl, CURLOPT_SSLKEY, c->certificate);
    result = curl_easy_perform(curl);
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &r->status);
  }
  if (!problem[0]) snprintf(problem, CURL_ERROR_SIZE, "%s", curl_easy_strerror(result));
  curl_easy_cleanup(curl);
  curl_slist_free_all(headers);
  return result;
}

static int berth__read_token(const char *reply, void *token) {
  return berth__read(reply, "t", "token", token, (size_t)512)
      && strspn((char *)token, "-._~+/=ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")
         == strlen((char *)token);
}

/* What an attempt gave; of several the largest is reported. */
enum { BERTH__NO_REPLY = 1, BERTH__FOREIGN_REPLY, BERTH__REPLY, BERTH__FINAL };

/* Sends the request to one server and judges the reply. */
static int berth__attempt(berth__request *r, int index, berth_error *e) {
  berth_client *c = r->client;
  const char *url = c->servers[index].url;
  char token[512], problem[CURL_ERROR_SIZE], *code = NULL, *message = NULL;
  int rank = BERTH__NO_REPLY, kind = BERTH_UNAVAILABLE, is_good, wait;
  long long position = -1, length = 0;
  pthread_mutex_lock(&c->lock);
  strcpy(token, r->is_login ? "" : c->servers[index].token);
  wait = r->wait > 0 && !c->servers[index].has_answered ? 0 : r->wait;
  pthread_mutex_unlock(&c->lock);
  if (c->name[0] && !token[0] && !r->is_login) {
    berth__request login = {0};
    login.client = c;
    login.path = "/auth";
    login.read = berth__read_token;
    login.out = token;
    login.is_login = 1;
    login.is_cancellable = r->is_cancellable;
    login.wait = -1;
    rank = berth__attempt(&login, index, e);
    free(login.reply.data);
    if (rank != BERTH__FINAL || e->kind) return rank;
    pthread_mutex_lock(&c->lock);
    strcpy(c->servers[index].token, token);
    pthread_mutex_unlock(&c->lock);
  }
  if (berth__exchange(r, url, token, wait, problem) != CURLE_OK) {
    berth__fail(e, BERTH_UNAVAILABLE, "unreachable",
                "%s cannot be reached: %s; check the address and that the server runs", url, problem);
    return BERTH__NO_REPLY;
  }
  if (r->status == 401 && token[0] && !r->has_new_login) {
    r->has_new_login = 1;
    pthread_mutex_lock(&c->lock);
    c->servers[index].token[0] = '\0';
    pthread_mutex_unlock(&c->lock);
    return berth__attempt(r, index, e);
  }
  is_good = r->is_text || berth__is_object(r->reply.data, r->reply.size, 0);
  if (r->status >= 200 && r->status < 300 && (!r->read || (is_good && r->read(r->reply.data, r->out)))) {
    rank = BERTH__FINAL;
    kind = BERTH_OK;
  } else if (r->status >= 400 && berth__is_object(r->reply.data, r->reply.size, 0)
             && berth__read(r->reply.data, "sSII", "code", &code, "message", &message, "queue.position",
                            &position, "queue.length", &length) && *code) {
    rank = r->status >= 500 || r->status == 408 || r->status == 429 ? BERTH__REPLY : BERTH__FINAL;
    kind = rank == BERTH__REPLY ? BERTH_UNAVAILABLE
         : !strcmp(code, "floating_not_available") || !strcmp(code, "slots_capped") ? BERTH_NO_FREE_SLOT
         : r->status == 401 || r->status == 403 ? BERTH_ACCESS_DENIED : BERTH_REFUSED;
  }
  pthread_mutex_lock(&c->lock);
  if (!r->appliance[0]) rank = BERTH__NO_REPLY;
  else if (c->appliance[0] && strcmp(c->appliance, r->appliance)) rank = BERTH__FOREIGN_REPLY;
  if (rank == BERTH__FINAL) {
    strcpy(c->appliance, r->appliance);
    c->current = index;
    c->servers[index].has_answered = 1;
  }
  pthread_mutex_unlock(&c->lock);
  if (rank == BERTH__NO_REPLY) {
    berth__fail(e, BERTH_UNAVAILABLE, "unreachable",
                "the reply of %s (status %ld) is not one of Berth; check the address", url, r->status);
  } else if (rank == BERTH__FOREIGN_REPLY) {
    berth__fail(e, BERTH_OTHER_APPLIANCE, "other_appliance", "%s is the license server %s, but %s "
                "answered first; give only addresses of one server", url, r->appliance, c->appliance);
  } else {
    berth__fail(e, (berth_kind)kind, code ? code : "", "%.400s (%s)", message ? message : "", url);
    e->position = position >= 0 && position < 1000000 ? (int)position : -1;
    r->queue_length = length >= 0 && length < 1000000 ? (int)length : 0;
  }
  e->status = (int)r->status;
  strcpy(e->request_id, r->request_id);
  free(code);
  free(message);
  return rank;
}

/* Makes a call: the current server first, then the others, again and again within the budget. */
static int berth__call(berth__request *r, berth_error *error) {
  berth_client *c = r->client;
  berth_error e, best;
  double started = berth__now(), pause = 0.25, longest, until, budget;
  int best_rank = 0, rank, i, first;
  for (;; pause = pause < 2.5 ? 2 * pause : 5) {
    pthread_mutex_lock(&c->lock);
    first = c->current;
    pthread_mutex_unlock(&c->lock);
    longest = berth__jitter(pause, 0.25);
    for (i = 0; i < c->server_count && best_rank < BERTH__FINAL; i++) {
      rank = berth__attempt(r, (first + i) % c->server_count, &e);
      if (rank >= best_rank) best = e;
      if (rank >= best_rank) best_rank = rank;
      if (atof(r->retry_after) > longest) longest = atof(r->retry_after);
      if (rank < BERTH__FINAL && berth__must_stop(r)) {
        berth__fail(&best, BERTH_INVALID_ARGUMENT, "client_closed", "the client was closed");
        best_rank = BERTH__FINAL;
      }
    }
    budget = r->is_release && !strcmp(best.code, "standby") ? 30 : r->retry_for;
    until = berth__now() + longest;
    if (until > started + budget) until = started + budget;
    if (best_rank == BERTH__FINAL || until - berth__now() < 0.1) break;
    while (berth__now() < until && !berth__must_stop(r)) {
      pthread_mutex_lock(&c->lock);
      berth__wait(c, until - berth__now());
      pthread_mutex_unlock(&c->lock);
    }
  }
  free(r->reply.data);
  free(r->body);
  r->body = r->reply.data = NULL;
  if (error) *error = best;
  return best.kind;
}

/* Makes a request to the current license server; berth__call frees the body. */
static berth__request berth__request_to(berth_client *c, const char *path, char *body) {
  berth__request r = {0};
  r.client = c;
  r.path = path;
  r.body = body;
  r.wait = -1;
  r.retry_for = c->retry_for;
  return r;
}

/* Begins a call of the application; every BERTH_OK is followed by berth__leave. */
static int berth__enter(berth_client *c, berth_error *e) {
  int is_closing;
  if (!c) return berth__invalid(e, "the client is NULL");
  if (c->pid != getpid()) {
    return berth__fail(e, BERTH_INVALID_ARGUMENT, "forked", "this process was forked from that of "
                       "the client; create a client in it");
  }
  pthread_mutex_lock(&c->lock);
  is_closing = c->is_closing;
  c->calls += !is_closing;
  pthread_mutex_unlock(&c->lock);
  if (!is_closing) return berth__fail(e, BERTH_OK, "", "");
  return berth__fail(e, BERTH_INVALID_ARGUMENT, "client_closed", "the client was closed");
}

static int berth__leave(berth_client *c, int kind) {
  pthread_mutex_lock(&c->lock);
  c->calls--;
  pthread_cond_broadcast(&c->changed);
  pthread_mutex_unlock(&c->lock);
  return kind;
}

/* --- Slots, of users and of features --- */

static int berth__read_slot(const char *reply, void *out) {
  berth__registration *g = (berth__registration *)out;
  return berth__read(reply, "ittbns", "license_id", &g->license_id, "registered_at",
                     g->registered_at, sizeof g->registered_at, "expires_at", g->expires_at,
                     sizeof g->expires_at, "is_borrowed", &g->is_borrowed, "floating_timeout",
                     &g->minutes, "license_json", &g->license)
      && g->license_id >= 0 && g->minutes > 0 && g->minutes < 1e7
      && berth__is_object(g->license, strlen(g->license), 0);
}

static int berth__read_feature(const char *reply, void *out) {
  berth__registration *g = (berth__registration *)out;
  return berth__read(reply, "n", "floating_timeout", &g->minutes) && g->minutes > 0
      && g->minutes < 1e7;
}

/* Prepares a request about a slot: to take or renew it, or to release it. */
static berth__request berth__slot_request(berth_client *c, const berth__holding *h, int is_release,
                                          long long license_id, berth__registration *out) {
  char id[24] = "";
  int is_feature = h->feature[0] != '\0';
  berth__request r;
  if (license_id > 0) snprintf(id, sizeof id, "%lld", license_id);
  r = berth__request_to(c, is_release ? (is_feature ? "/api/v4/featureRelease" : "/api/v4/unregister")
                        : is_feature ? "/api/v4/featureRegister" : "/api/v4/register",
                        berth__object("product", c->product, "user", h->user, "feature", h->feature,
                                      "os_hostname", is_release ? "" : c->host, "user_info",
                                      is_release ? "" : h->user_info, "license_id", id, NULL));
  r.read = is_release ? NULL : is_feature ? berth__read_feature : berth__read_slot;
  r.out = out;
  r.is_release = is_release;
  if (is_release) r.retry_for = 5;
  if (is_release) r.timeout = c->timeout < 5 ? c->timeout : 5;
  return r;
}

/* Notes a granted slot. All the following functions up to the thread's are called with the lock. */
static void berth__note(berth__holding *h, berth__registration *g, double sent_at) {
  free(h->now.license);
  h->now = *g;
  h->failures = 0;
  h->ends_at = sent_at + g->minutes * 60;
  h->renew_at = sent_at + berth__jitter(g->minutes * 20, 0.1);
}

/* Ends a slot and its features; with an error it is a loss, which the thread then reports. */
static void berth__end(berth_client *c, berth__holding *h, const berth_error *loss) {
  berth__holding *other;
  berth_slot *handle;
  h->state = BERTH__ENDED;
  for (handle = h->handles; loss && handle; handle = handle->next) handle->is_loss_due = 1;
  if (loss) h->loss = *loss;
  for (other = c->holdings; other; other = other->next) {
    if (other->slot != h) continue;
    other->state = BERTH__ENDED;
    other->slot = NULL;
  }
  pthread_cond_broadcast(&c->changed);
}

/* Frees a slot that has ended, when it is not used any more. */
static void berth__drop(berth_client *c, berth__holding *h) {
  berth__holding **at = &c->holdings;
  if (h->handles || h->state != BERTH__ENDED || h->is_renewing) return;
  while (*at && *at != h) at = &(*at)->next;
  if (*at) *at = h->next;
  free(h->now.license);
  free(h);
}

/* Is a call about the slot or one of its features in progress? */
static int berth__is_busy(const berth_client *c, const berth__holding *h) {
  const berth__holding *other;
  for (other = c->holdings; other; other = other->next) {
    if (other != h && other->slot != h) continue;
    if (other->is_renewing || other->state == BERTH__ACQUIRING) return 1;
    if (other->state == BERTH__RELEASING) return 1;
  }
  return 0;
}

static void berth__renew(berth_client *c, berth__holding *h) {
  berth__registration granted = h->now;
  berth_error e;
  double now, pause, timeout = granted.minutes * 10;
  berth__request r = berth__slot_request(c, h, 0, h->license_id, &granted);
  int kind;
  granted.license = NULL;
  r.retry_for = 0;
  r.timeout = c->timeout < timeout ? c->timeout : timeout < 1 ? 1 : timeout;
  h->is_renewing = 1;
  pthread_mutex_unlock(&c->lock);
  kind = berth__call(&r, &e);
  pthread_mutex_lock(&c->lock);
  h->is_renewing = 0;
  now = berth__now();
  if (kind == BERTH_OK && h->state == BERTH__HELD) {
    berth__note(h, &granted, r.sent_at);
    granted.license = NULL;
  } else if (h->state == BERTH__HELD && (e.status == 400 || now >= h->ends_at)) {
    berth__end(c, h, &e);
  } else {
    pause = berth__jitter(h->failures < 4 ? 1 << h->failures : 15, 0.25);
    if (pause > h->now.minutes * 10) pause = h->now.minutes * 10;
    h->failures++;
    h->renew_at = now + pause < h->ends_at ? now + pause : h->ends_at;
  }
  free(granted.license);
  berth__drop(c, h);
  pthread_cond_broadcast(&c->changed);
}

/* Calls one on_loss that is due; 0: there is none. */
static int berth__report(berth_client *c) {
  berth__holding *h;
  berth_slot *handle = NULL;
  berth_error loss;
  char user[257];
  for (h = c->holdings; h; h = h->next) {
    for (handle = h->handles; handle && !handle->is_loss_due;) handle = handle->next;
    if (handle) break;
  }
  if (!handle) return 0;
  handle->is_loss_due = 0;
  c->reporting = handle;
  loss = h->loss;
  strcpy(user, h->user);
  pthread_mutex_unlock(&c->lock);
  if (handle->on_loss) handle->on_loss(handle->data, user, &loss);
  pthread_mutex_lock(&c->lock);
  c->reporting = NULL;
  pthread_cond_broadcast(&c->changed);
  return 1;
}

static void *berth__run(void *client) {
  berth_client *c = (berth_client *)client;
  pthread_mutex_lock(&c->lock);
  while (!c->is_closing) {
    berth__holding *h, *next = NULL;
    for (h = c->holdings; h; h = h->next) {
      if (h->state == BERTH__HELD && (!next || h->renew_at < next->renew_at)) next = h;
    }
    if (berth__report(c)) continue;
    if (next && next->renew_at <= berth__now()) berth__renew(c, next);
    else berth__wait(c, next ? next->renew_at - berth__now() : 1);
  }
  pthread_mutex_unlock(&c->lock);
  return NULL;
}

static int berth__is_thread(const berth_client *c) {
  return c->has_thread && pthread_equal(c->thread, pthread_self());
}

/* Starts the thread, which handles no signals of the application. */
static int berth__start(berth_client *c) {
  sigset_t all, old;
  if (c->has_thread) return 1;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  c->has_thread = !pthread_create(&c->thread, NULL, berth__run, c);
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  return c->has_thread;
}

/* Registers, and waits for a slot if the caller wants to. Called without the lock. */
static int berth__register(berth_client *c, const berth__holding *h,
                           const berth_acquire_options *o, berth__registration *g, double *sent_at,
                           berth_error *e) {
  double started = berth__now(), end = started + o->wait, left = o->wait, pause;
  berth__request r;
  int kind, is_first = 1;
  for (;; is_first = 0) {
    r = berth__slot_request(c, h, 0, h->license_id, g);
    r.wait = o->wait <= 0 ? -1 : is_first ? 0 : left > 30 ? 30 : (int)left;
    r.is_cancellable = o->wait > 0;
    if (left > r.retry_for) r.retry_for = left;
    kind = berth__call(&r, e);
    *sent_at = r.sent_at;
    if (kind != BERTH_NO_FREE_SLOT || o->wait <= 0) break;
    if (o->on_wait && e->position >= 0) o->on_wait(o->wait_data, e->position, r.queue_length);
    left = end - berth__now();
    if (left <= 0) break;
    if (!strncasecmp(r.preference, "wait", 4) && (is_first || berth__now() - r.sent_at > 0.5)) continue;
    pause = atof(r.retry_after) > 0 ? atof(r.retry_after) : 5;
    end -= 0;
    for (pause = berth__now() + (pause < left ? pause : left); berth__now() < pause;) {
      if (berth__must_stop(&r)) break;
      pthread_mutex_lock(&c->lock);
      berth__wait(c, pause - berth__now());
      pthread_mutex_unlock(&c->lock);
    }
    left = end - berth__now();
    if (left <= 0) break;
  }
  if (o->wait > 0 && (kind == BERTH_NO_FREE_SLOT || kind == BERTH_INVALID_ARGUMENT)) {
    r = berth__slot_request(c, h, 1, h->license_id, NULL);
    r.retry_for = 0;
    r.timeout = c->timeout < 3 ? c->timeout : 3;
    berth__call(&r, NULL);
  }
  return kind;
}

/* Takes the slot that h describes, or shares an equal one; takes over h. */
static int berth__take(berth_client *c, berth__holding *h, const berth_acquire_options *o,
                       berth_slot *handle, berth_error *e) {
  berth__holding *other;
  berth__registration granted = {0};
  double sent_at = 0;
  int kind = BERTH_OK;
  pthread_mutex_lock(&c->lock);
  for (;;) {
    for (other = c->holdings; other; other = other->next) {
      if (other->state != BERTH__ENDED && other->slot == h->slot && !strcmp(other->user, h->user)
          && !strcmp(other->feature, h->feature) && other->license_id == h->license_id) break;
    }
    if (!other || (other->state == BERTH__HELD
                   && (berth__now() < other->ends_at || berth__is_thread(c)))) break;
    berth__wait(c, 1);
  }
  if (!berth__start(c)) {
    kind = berth__fail(e, BERTH_OUT_OF_MEMORY, "out_of_memory", "no thread can be started");
  } else if (h->slot && h->slot->state != BERTH__HELD) {
    kind = berth__invalid(e, "the slot of the feature is not held");
  } else if (!other) {
    h->next = c->holdings;
    c->holdings = h;
    pthread_mutex_unlock(&c->lock);
    kind = berth__register(c, h, o, &granted, &sent_at, e);
    pthread_mutex_lock(&c->lock);
    if (kind == BERTH_OK) berth__note(h, &granted, sent_at);
    else free(granted.license);
    if (kind == BERTH_OK) h->state = BERTH__HELD;
    other = kind == BERTH_OK ? h : NULL;
  }
  if (kind != BERTH_OK || other != h) h->state = BERTH__ENDED;
  if (other != h) berth__drop(c, h);
  if (kind == BERTH_OK) {
    handle->client = c;
    handle->holding = other;
    handle->next = other->handles;
    other->handles = handle;
  } else {
    free(handle);
  }
  pthread_cond_broadcast(&c->changed);
  pthread_mutex_unlock(&c->lock);
  return kind;
}

int berth_acquire(berth_client *c, const char *user, const berth_acquire_options *options,
                  berth_slot **slot, berth_error *error) {
  berth_acquire_options o = {0};
  berth__holding *h = (berth__holding *)calloc(1, sizeof *h);
  berth_slot *handle = (berth_slot *)calloc(1, sizeof *handle);
  berth_error ignored;
  int kind = berth__enter(c, error ? error : (error = &ignored));
  if (options) o = *options;
  if (kind == BERTH_OK) {
    if (!h || !handle) kind = berth__fail(error, BERTH_OUT_OF_MEMORY, "out_of_memory", "no memory");
    else if (!user || !*user || !berth__copy(h->user, sizeof h->user, user))
      kind = berth__invalid(error, "user must have 1 to 256 bytes");
    else if (!berth__copy(h->user_info, sizeof h->user_info, o.user_info))
      kind = berth__invalid(error, "user_info must have at most 4096 bytes");
    else if (!(o.wait >= 0 && o.wait < 1e9) || o.license_id < 0)
      kind = berth__invalid(error, "wait and license_id must not be negative");
    if (kind != BERTH_OK) berth__leave(c, kind);
  }
  if (kind != BERTH_OK) {
    free(h);
    free(handle);
    return kind;
  }
  h->license_id = o.license_id;
  handle->on_loss = o.on_loss;
  handle->data = o.loss_data;
  *slot = handle;
  return berth__leave(c, berth__take(c, h, &o, handle, error));
}

int berth_feature_acquire(berth_slot *slot, const char *code, berth_loss_callback *on_loss,
                          void *data, berth_feature **feature, berth_error *error) {
  berth_client *c = slot->client;
  berth_acquire_options o = {0};
  berth__holding *h = (berth__holding *)calloc(1, sizeof *h);
  berth_slot *handle = (berth_slot *)calloc(1, sizeof(berth_feature));
  berth_error ignored;
  int kind = berth__enter(c, error ? error : (error = &ignored));
  if (kind == BERTH_OK) {
    if (!h || !handle) kind = berth__fail(error, BERTH_OUT_OF_MEMORY, "out_of_memory", "no memory");
    else if (!code || !*code || !berth__copy(h->feature, sizeof h->feature, code))
      kind = berth__invalid(error, "code must have 1 to 256 bytes");
    if (kind != BERTH_OK) berth__leave(c, kind);
  }
  if (kind != BERTH_OK) {
    free(h);
    free(handle);
    return kind;
  }
  pthread_mutex_lock(&c->lock);
  h->slot = slot->holding;
  h->license_id = slot->holding->now.license_id;
  strcpy(h->user, slot->holding->user);
  pthread_mutex_unlock(&c->lock);
  handle->on_loss = on_loss;
  handle->data = data;
  *feature = (berth_feature *)handle;
  return berth__leave(c, berth__take(c, h, &o, handle, error));
}

/* Sends the release of a slot, without the lock. That it is released already is success. */
static int berth__send_release(berth_client *c, berth__holding *h, berth_error *e) {
  berth__request r = berth__slot_request(c, h, 1, h->feature[0] ? h->license_id : h->now.license_id,
                                         NULL);
  int kind = berth__call(&r, e);
  return kind == BERTH_REFUSED && e->status == 400
         && (h->feature[0] || !strcmp(e->code, "user_not_registered")) ? BERTH_OK : kind;
}

int berth_slot_release(berth_slot *slot, berth_error *error) {
  berth_client *c = slot->client;
  berth__holding *h = slot->holding;
  berth_slot **at = &h->handles;
  berth_error ignored;
  int kind = berth__enter(c, error ? error : (error = &ignored));
  if (kind != BERTH_OK) return kind;
  pthread_mutex_lock(&c->lock);
  while (c->reporting == slot && !berth__is_thread(c)) berth__wait(c, 1);
  while (h->handles == slot && !slot->next && berth__is_busy(c, h)) berth__wait(c, 1);
  while (*at != slot) at = &(*at)->next;
  *at = slot->next;
  if (!h->handles && h->state == BERTH__HELD) {
    if (!h->now.is_borrowed && !h->is_borrowed_here) {
      h->state = BERTH__RELEASING;
      pthread_mutex_unlock(&c->lock);
      kind = berth__send_release(c, h, error);
      pthread_mutex_lock(&c->lock);
    }
    berth__end(c, h, NULL);
  }
  berth__drop(c, h);
  pthread_mutex_unlock(&c->lock);
  free(slot);
  return berth__leave(c, kind == BERTH_OK ? BERTH_OK : BERTH_UNAVAILABLE);
}

int berth_feature_release(berth_feature *feature, berth_error *error) {
  return berth_slot_release(&feature->handle, error);
}

int berth_slot_info(const berth_slot *slot, berth_slot_information *info) {
  berth_client *c = slot->client;
  const berth__holding *h = slot->holding;
  memset(info, 0, sizeof *info);
  if (c->pid != getpid()) return BERTH_INVALID_ARGUMENT;
  pthread_mutex_lock(&c->lock);
  info->license_id = h->now.license_id;
  strcpy(info->registered_at, h->now.registered_at);
  strcpy(info->expires_at, h->now.expires_at);
  info->is_borrowed = h->now.is_borrowed || h->is_borrowed_here;
  info->is_held = h->state == BERTH__HELD && berth__now() < h->ends_at
               && (!h->slot || berth__now() < h->slot->ends_at);
  pthread_mutex_unlock(&c->lock);
  return BERTH_OK;
}

int berth_slot_is_held(const berth_slot *slot) {
  berth_slot_information info;
  return berth_slot_info(slot, &info) == BERTH_OK && info.is_held;
}

int berth_feature_is_held(const berth_feature *feature) {
  return berth_slot_is_held(&feature->handle);
}

char *berth_slot_license(const berth_slot *slot) {
  char *license;
  if (slot->client->pid != getpid()) return NULL;
  pthread_mutex_lock(&slot->client->lock);
  license = strdup(slot->holding->now.license);
  pthread_mutex_unlock(&slot->client->lock);
  return license;
}

/* --- Calls about users --- */

/* Makes or checks an idempotency key. */
static int berth__choose_key(const char *wanted, char key[65], berth_error *e) {
  unsigned char random[16];
  const char *p = wanted;
  if (!wanted) {
    if (!berth__random(random, sizeof random)) return berth__invalid(e, "no /dev/urandom: give key");
    berth__hex(random, sizeof random, key);
    return BERTH_OK;
  }
  while (*p > 0x20 && *p < 0x7F) p++;
  if (!*p && p > wanted && berth__copy(key, 65, wanted)) return BERTH_OK;
  return berth__invalid(e, "key must have 1 to 64 visible ASCII characters");
}

/* Makes a call that is counted once by its key. */
static int berth__call_with_key(berth__request *r, const char *key, berth_error *e) {
  static const char hint[] = "; it may have been counted: repeat it with the same key";
  int kind = BERTH_OK;
  r->key = key;
  kind = berth__call(r, e);
  if (kind != BERTH_UNAVAILABLE) return kind;
  strcpy(e->key, key);
  strncat(e->message, hint, sizeof e->message - strlen(e->message) - 1);
  return kind;
}

static int berth__read_borrow(const char *reply, void *out) {
  berth_borrowed *b = (berth_borrowed *)out;
  return berth__read(reply, "titS", "user", b->user, sizeof b->user, "license_id", &b->license_id,
                     "borrowed_until", b->borrowed_until, sizeof b->borrowed_until, "lease",
                     &b->lease) && b->license_id >= 0;
}

static int berth__read_text(const char *reply, void *out) {
  free(*(char **)out);
  *(char **)out = strdup(reply);
  return *reply && *(char **)out;
}

int berth_borrow(berth_client *c, const char *user, const berth_borrow_options *options,
                 berth_borrowed *borrow, berth_error *error) {
  berth_borrow_options o = {0};
  berth__request r;
  berth__holding *h;
  berth_error ignored;
  char id[24] = "", key[65], path[840], *product;
  int kind = berth__enter(c, error ? error : (error = &ignored));
  if (kind != BERTH_OK) return kind;
  memset(borrow, 0, sizeof *borrow);
  if (options) o = *options;
  if (o.license_id) snprintf(id, sizeof id, "%lld", o.license_id);
  kind = berth__choose_key(o.key, key, error);
  if (!user || !*user || strlen(user) > 256) kind = berth__invalid(error, "user must have 1 to 256 bytes");
  if (!c->nonce[0]) kind = berth__invalid(error, "this device has no machine id: give nonce");
  if (kind != BERTH_OK) return berth__leave(c, kind);
  r = berth__request_to(c, "/api/v4/borrow",
                        berth__object("product", c->product, "user", user, "os_hostname", c->host,
                                      "license_id", id, "borrowed_until", o.until, NULL));
  r.nonce = c->nonce;
  r.read = berth__read_borrow;
  r.out = borrow;
  kind = berth__call_with_key(&r, key, error);
  if (kind == BERTH_OK) {
    pthread_mutex_lock(&c->lock);
    for (h = c->holdings; h; h = h->next) {
      if (!strcmp(h->user, user) && !h->feature[0]) h->is_borrowed_here = 1;
    }
    pthread_mutex_unlock(&c->lock);
    product = curl_easy_escape(NULL, c->product, 0);
    snprintf(path, sizeof path, "/api/v4/license?license_id=%lld&product=%s", borrow->license_id,
             product ? product : "");
    curl_free(product);
    r = berth__request_to(c, path, NULL);
    r.accept = "application/jwt";
    r.read = berth__read_text;
    r.out = &borrow->license;
    r.is_text = 1;
    kind = berth__call_with_key(&r, key, error);
  }
  if (kind != BERTH_OK) berth_borrow_free(borrow);
  return berth__leave(c, kind);
}

void berth_borrow_free(berth_borrowed *borrow) {
  free(borrow->lease);
  free(borrow->license);
  memset(borrow, 0, sizeof *borrow);
}

int berth_release(berth_client *c, const char *user, berth_error *error) {
  berth__request r;
  berth__holding *h, *next;
  berth_error ignored;
  int kind = berth__enter(c, error ? error : (error = &ignored));
  if (kind != BERTH_OK) return kind;
  if (!user || !*user) return berth__leave(c, berth__invalid(error, "user is empty"));
  pthread_mutex_lock(&c->lock);
  for (h = c->holdings; h; h = h ? h->next : c->holdings) {
    if (h->feature[0] || strcmp(h->user, user) || !berth__is_busy(c, h)) continue;
    berth__wait(c, 1);
    h = NULL; /* the list may have changed: begin again */
  }
  for (h = c->holdings; h; h = h->next) {
    if (!strcmp(h->user, user) && h->state == BERTH__HELD) h->state = BERTH__RELEASING;
  }
  pthread_mutex_unlock(&c->lock);
  r = berth__request_to(c, "/api/v4/unregister",
                        berth__object("product", c->product, "user", user, NULL));
  kind = berth__call(&r, error);
  if (kind == BERTH_REFUSED && !strcmp(error->code, "user_not_registered")) kind = BERTH_OK;
  pthread_mutex_lock(&c->lock);
  for (h = c->holdings; h; h = next) {
    next = h->next;
    if (strcmp(h->user, user) || h->state != BERTH__RELEASING) continue;
    h->state = BERTH__HELD;
    if (kind == BERTH_OK) berth__end(c, h, NULL);
  }
  pthread_cond_broadcast(&c->changed);
  pthread_mutex_unlock(&c->lock);
  return berth__leave(c, kind);
}

static int berth__read_consumption(const char *reply, void *out) {
  berth_consumption *n = (berth_consumption *)out;
  return berth__read(reply, "iiI", "total_consumptions", &n->total, "license_id", &n->license_id,
                     "max_consumptions", &n->maximum) && n->license_id >= 0;
}

int berth_consume(berth_client *c, long long n, const berth_consume_options *options,
                  berth_consumption *consumption, berth_error *error) {
  berth_consume_options o = {0};
  berth__request r;
  berth_error ignored;
  char count[24], id[24] = "", overages[24] = "";
  int kind = berth__enter(c, error ? error : (error = &ignored));
  if (kind != BERTH_OK) return kind;
  memset(consumption, 0, sizeof *consumption);
  consumption->maximum = -1;
  if (options) o = *options;
  kind = berth__choose_key(o.key, consumption->key, error);
  if (kind != BERTH_OK) return berth__leave(c, kind);
  snprintf(count, sizeof count, "%lld", n);
  if (o.license_id) snprintf(id, sizeof id, "%lld", o.license_id);
  if (o.max_overages) snprintf(overages, sizeof overages, "%lld", *o.max_overages);
  r = berth__request_to(c, o.feature ? "/api/v4/add_feature_consumption" : "/api/v4/add_consumption",
                        berth__object("product", c->product, "consumptions", count, "feature",
                                      o.feature, "user", o.user, "license_id", id, "max_overages",
                                      overages, "allow_overages", o.allow_overages > 0 ? "true"
                                      : o.allow_overages < 0 ? "false" : "", NULL));
  r.read = berth__read_consumption;
  r.out = consumption;
  return berth__leave(c, berth__call_with_key(&r, consumption->key, error));
}

/* --- The lease check --- */

/* Decodes base64url in its one canonical form; returns the number of bytes, -1: malformed. */
static long berth__decode(const char *text, size_t size, unsigned char *out) {
  static const char symbols[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  unsigned long bits = 0;
  long count = 0;
  int have = 0;
  for (; size > 0; size--, text++) {
    const char *symbol = *text ? strchr(symbols, *text) : NULL;
    if (!symbol) return -1;
    bits = (bits << 6 | (unsigned long)(symbol - symbols)) & 0xFFFF;
    have += 6;
    if (have >= 8) {
      have -= 8;
      out[count++] = (unsigned char)(bits >> have);
    }
  }
  return have < 6 && !(bits & ((1u << have) - 1)) ? count : -1;
}

#ifdef BERTH_WITH_OPENSSL
static void berth__sha256(const void *data, size_t size, unsigned char out[32]) {
  EVP_Digest(data, size, out, NULL, EVP_sha256(), NULL);
}

static int berth__is_signed(const unsigned char key[32], const void *text, size_t size,
                            const unsigned char signature[64]) {
  EVP_PKEY *pkey = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, key, 32);
  EVP_MD_CTX *context = EVP_MD_CTX_new();
  int is_signed = pkey && context && EVP_DigestVerifyInit(context, NULL, NULL, NULL, pkey) == 1
               && EVP_DigestVerify(context, signature, 64, (const unsigned char *)text, size) == 1;
  /* Under a key of small order, one signature fits any text. */
  is_signed &= memcmp(key + 1, key + 2, 29) && memcmp(key, "\x26\xe8\x95\x8f\xc2\xb2\x27\xb0", 8)
            && memcmp(key, "\xc7\x17\x6a\x70\x3d\x4d\xd8\x4f", 8);
  EVP_MD_CTX_free(context);
  EVP_PKEY_free(pkey);
  return is_signed;
}

typedef struct {
  char *header, *payload, *memory; /* JSON texts in the memory */
  const char *text;
  size_t signed_size;
  unsigned char signature[64];
} berth__document;

/* Reads a signed document of a type; 0: malformed. Its memory is to be freed in any case. */
static int berth__open(berth__document *d, const char *text, const char *type) {
  const char *dot = strchr(text, '.'), *last = dot ? strchr(dot + 1, '.') : NULL;
  char algorithm[8], found[32];
  long header, payload;
  memset(d, 0, sizeof *d);
  if (!last || strlen(text) > 49152 || strlen(last + 1) != 86) return 0;
  d->text = text;
  d->signed_size = (size_t)(last - text);
  d->memory = (char *)calloc(1, d->signed_size + 2);
  if (!d->memory) return 0;
  header = berth__decode(text, (size_t)(dot - text), (unsigned char *)d->memory);
  d->header = d->memory;
  d->payload = d->memory + header + 1;
  if (header < 0) return 0;
  payload = berth__decode(dot + 1, (size_t)(last - dot - 1), (unsigned char *)d->payload);
  return payload >= 0 && berth__decode(last + 1, 86, d->signature) == 64
      && berth__is_object(d->header, (size_t)header, 1)
      && berth__is_object(d->payload, (size_t)payload, 1)
      && berth__read(d->header, "tt", "alg", algorithm, sizeof algorithm, "typ", found, sizeof found)
      && !strcmp(algorithm, "EdDSA") && !strcmp(found, type) && !berth__find(d->header, "crit");
}

typedef struct { /* what the vendor granted */
  char appliance[17], lic[65], product[257], start[32], until[32];
  unsigned char key[32];
  long long license_id, serial, grace_hours, timeout_minutes, borrow_hours;
  int is_enabled;
} berth__grant;

static int berth__is_time(const char *text) {
  int y, month, day, hour, minute, second;
  return sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2d", &y, &month, &day, &hour, &minute, &second) == 6
      && strlen(text) >= 20 && text[strlen(text) - 1] == 'Z' && month >= 1 && month <= 12
      && day >= 1 && day <= 31 && hour < 24 && minute < 60 && second < 60;
}

/* Writes a time in seconds as text. Texts of this form are compared instead of times. */
static const char *berth__format_time(double seconds, char out[32]) {
  time_t time = (time_t)seconds;
  struct tm parts;
  strftime(out, 32, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&time, &parts));
  return out;
}

static int berth__read_terms(const char *json, berth__grant *g) {
  strcpy(g->start, "1970-01-01T00:00:00Z");
  strcpy(g->until, "9999-12-31T23:59:59Z");
  return berth__read(json, "tbTTIiI", "terms.product", g->product, sizeof g->product,
                     "terms.enabled", &g->is_enabled, "terms.start", g->start, sizeof g->start,
                     "terms.valid_until", g->until, sizeof g->until, "terms.grace_hours",
                     &g->grace_hours, "terms.timeout_minutes", &g->timeout_minutes,
                     "terms.borrow_hours", &g->borrow_hours)
      && berth__is_time(g->start) && berth__is_time(g->until);
}

static int berth__read_key(const char *json, const char *path, unsigned char out[32]) {
  char type[8], curve[16], x[44];
  const char *key = berth__find(json, path);
  return key && berth__read(key, "ttt", "kty", type, sizeof type, "crv", curve, sizeof curve, "x", x,
                            sizeof x)
      && !strcmp(type, "OKP") && !strcmp(curve, "Ed25519") && berth__decode(x, strlen(x), out) == 32;
}

/* Turns a code into canonical symbols; returns their number, 0 if there are more than `room`. */
static size_t berth__canonical(const char *code, char *out, size_t room) {
  size_t size = 0;
  for (; *code; code++) {
    int symbol = toupper((unsigned char)*code);
    if (!isdigit(symbol) && !(symbol >= 'A' && symbol <= 'Z')) continue;
    if (size == room) return 0;
    out[size++] = (char)(symbol == 'I' || symbol == 'L' ? '1' : symbol == 'O' ? '0' : symbol);
  }
  return size;
}

static int berth__unpack(const char *symbols, unsigned char *out, size_t count) {
  static const char alphabet[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
  unsigned long bits = 0;
  int have = 0;
  while (count > 0) {
    const char *symbol = *symbols ? strchr(alphabet, *symbols++) : NULL;
    if (!symbol) return 0;
    bits = (bits << 5 | (unsigned long)(symbol - alphabet)) & 0xFFFF;
    have += 5;
    if (have < 8) continue;
    have -= 8;
    *out++ = (unsigned char)(bits >> have);
    count--;
  }
  return 1;
}

static int berth__unhex(const char *text, unsigned char out[5]) {
  int i;
  unsigned byte;
  for (i = 0; i < 5; i++) {
    if (strspn(text + 2 * i, "0123456789abcdef") < 2 || sscanf(text + 2 * i, "%2x", &byte) != 1) return 0;
    out[i] = (unsigned char)byte;
  }
  return !text[10];
}

static void berth__frame(berth__buffer *b, const void *data, size_t size) {
  unsigned char length[4] = {0, 0, (unsigned char)(size >> 8), (unsigned char)size};
  berth__append(b, length, 4);
  berth__append(b, data, size);
}

/* Reads a bundle of a license by code and checks it with the vendor's keys. */
static const char *berth__check_bundle(const berth_client *c, const char *text, berth__grant *g) {
  char *policy = NULL, *code = NULL, *license_key = NULL, *initialization = NULL;
  char prefix[11], nonce[11], symbols[115], initial[20];
  unsigned char appliance[10], hardware[5], random[5], bytes[68], hash[32], kind_byte;
  long long version = 0, kind = 0, days;
  berth__buffer signed_text = {0}, id = {0};
  berth__document d = {0};
  size_t i, used;
  int k;
  const char *refusal = "license_malformed";
  if (berth__is_object(text, strlen(text), 1)
      && berth__read(text, "iisssstttT", "version", &version, "kind", &kind, "policy", &policy,
                     "confirmation_code", &code, "license_key", &license_key, "initialization_code",
                     &initialization, "appliance_id", g->appliance, sizeof g->appliance,
                     "hardware_prefix", prefix, sizeof prefix, "nonce", nonce, sizeof nonce, "-", prefix,
                     sizeof prefix)
      && version == 2 && (kind == 1 || kind == 2) && strlen(g->appliance) == 16
      && strlen(license_key) < 65536 && berth__read_key(text, "appliance_jwk", g->key)
      && berth__unpack(g->appliance, appliance, 10) && berth__unhex(prefix, hardware)
      && berth__unhex(nonce, random) && berth__canonical(code, symbols, 115) == 115
      && berth__open(&d, policy, "berth-policy+jwt") && berth__read_terms(d.payload, g)) {
    used = berth__canonical(initialization, initial, 20);
    /* Rows of 19 symbols, each followed by a check symbol. */
    for (i = 0; i < 109; i++) symbols[i] = symbols[i + i / 19];
    symbols[109] = '\0';
    if (berth__unpack(symbols, bytes, 68)) {
      refusal = "license_forged";
      kind_byte = (unsigned char)kind;
      berth__frame(&signed_text, "berth-confirm-v2", 16);
      berth__frame(&signed_text, &kind_byte, 1);
      berth__frame(&signed_text, appliance, 10);
      berth__frame(&signed_text, hardware, 5);
      berth__frame(&signed_text, random, 5);
      berth__frame(&signed_text, license_key, strlen(license_key));
      berth__sha256(policy, strlen(policy), hash);
      berth__frame(&signed_text, hash, 32);
      berth__frame(&signed_text, initial, used);
      berth__frame(&signed_text, bytes + 64, 4);
      berth__sha256(g->key, 32, hash);
      for (k = 0; k < c->key_count && refusal; k++) {
        if (signed_text.has_failed || memcmp(hash, appliance, 10)
            || !berth__is_signed(c->keys[k], signed_text.data, signed_text.size, bytes)
            || !berth__is_signed(c->keys[k], d.text, d.signed_size, d.signature)) continue;
        refusal = NULL;
        berth__append(&id, c->keys[k], 32);
        berth__append(&id, license_key, strlen(license_key));
        if (id.has_failed) refusal = "license_malformed";
        else berth__sha256(id.data, id.size, hash);
        for (i = 0, g->license_id = 0; i < 7; i++) g->license_id = g->license_id << 8 | hash[i];
        g->license_id >>= 4;
      }
      berth__sha256(bytes, 68, hash);
      berth__hex(hash, 32, g->lic);
      g->serial = bytes[66] << 8 | bytes[67];
      days = bytes[64] << 8 | bytes[65];
      if (days) berth__format_time((double)days * 86400, g->until);
    }
  }
  free(policy);
  free(code);
  free(license_key);
  free(initialization);
  free(d.memory);
  free(signed_text.data);
  free(id.data);
  return refusal;
}

static const char *berth__check_license(const berth_client *c, const char *text, berth__grant *g) {
  berth__document d;
  unsigned char hash[32];
  const char *refusal = "license_malformed";
  int k;
  if (berth__open(&d, text, "berth-license+jwt")
      && berth__read(d.payload, "tii", "appliance", g->appliance, sizeof g->appliance, "license_id",
                     &g->license_id, "serial", &g->serial)
      && berth__read_key(d.payload, "cnf.jwk", g->key) && berth__read_terms(d.payload, g)) {
    refusal = "license_forged";
    for (k = 0; k < c->key_count; k++) {
      if (berth__is_signed(c->keys[k], text, d.signed_size, d.signature)) refusal = NULL;
    }
    berth__sha256(text, strlen(text), hash);
    berth__hex(hash, 32, g->lic);
  }
  free(d.memory);
  return refusal;
}

int berth_verify(berth_client *c, const char *lease, const char *license, berth_lease *out,
                 berth_error *error) {
  berth__grant g;
  berth__document d = {0};
  char iss[32] = "", kid[32] = "", lic[80] = "", nonce[132] = "", a[32], b[32];
  long long iat = 0, exp = 0, now = (long long)time(NULL), longest;
  const char *refusal = NULL;
  size_t i;
  int kind = berth__enter(c, error);
  if (kind != BERTH_OK) return kind;
  memset(&g, 0, sizeof g);
  memset(out, 0, sizeof *out);
  if (!lease || !license || !c->key_count || !c->nonce[0]) {
    return berth__leave(c, berth__invalid(error, "lease, license, vendor_keys and nonce are needed"));
  }
  refusal = *license == '{' ? berth__check_bundle(c, license, &g) : berth__check_license(c, license, &g);
  if (!refusal && (!berth__open(&d, lease, "berth-lease+jwt")
      || !berth__read(d.header, "t", "kid", kid, sizeof kid)
      || !berth__read(d.payload, "tttiitiiT", "iss", iss, sizeof iss, "sub", out->user,
                      sizeof out->user, "aud", out->product, sizeof out->product, "license_id",
                      &out->license_id, "serial", &out->serial, "lic", lic, sizeof lic, "iat", &iat,
                      "exp", &exp, "nonce", nonce, sizeof nonce)
      || iat < 0 || exp < 0 || exp > 253402300799LL)) refusal = "lease_malformed";
  longest = 60 * g.timeout_minutes > 3600 * g.borrow_hours ? 60 * g.timeout_minutes
                                                          : 3600 * g.borrow_hours;
  if (!refusal) {
    const struct {
      int holds;
      const char *code;
    } rules[] = {
      {berth__is_signed(g.key, lease, d.signed_size, d.signature) && !strcmp(iss, g.appliance)
       && !strcmp(kid, g.appliance), "lease_forged"},
      {!strcmp(g.product, c->product) && !strcmp(out->product, c->product), "other_product"},
      {g.is_enabled, "license_disabled"},
      {strncmp(g.start, berth__format_time((double)now + BERTH__LEEWAY, a), 19) <= 0,
       "license_not_started"},
      {strncmp(berth__format_time((double)(now - BERTH__LEEWAY - 3600 * g.grace_hours), a), g.until, 19)
       < 0, "license_ended"},
      {now < exp + BERTH__LEEWAY, "lease_expired"},
      {strncmp(berth__format_time((double)(exp - 3600 * g.grace_hours), b), g.until, 19) <= 0,
       "lease_outlasts_license"},
      {exp - iat <= longest + BERTH__LEEWAY, "lease_too_long"},
      {iat <= now + BERTH__LEEWAY, "lease_not_started"},
      {out->license_id == g.license_id && out->serial == g.serial && !strcmp(lic, g.lic),
       "other_license"},
      {!strcmp(nonce, c->nonce), "other_device"}};
    for (i = 0; i < sizeof rules / sizeof *rules && !refusal; i++) {
      if (!rules[i].holds) refusal = rules[i].code;
    }
    berth__format_time((double)exp, out->expires_at);
  }
  free(d.memory);
  if (!refusal) return berth__leave(c, BERTH_OK);
  memset(out, 0, sizeof *out);
  return berth__leave(c, berth__fail(error, BERTH_LEASE_REFUSED, refusal,
                                     "the lease is not accepted: %s; borrow again", refusal));
}
#else
int berth_verify(berth_client *c, const char *lease, const char *license, berth_lease *out,
                 berth_error *error) {
  int kind = berth__enter(c, error);
  if (kind != BERTH_OK) return kind;
  if (!lease || !license || !out || !c->key_count) kind = berth__invalid(error, "vendor_keys is empty");
  else kind = berth__fail(error, BERTH_LEASE_REFUSED, "verify_unavailable", "the program was compiled "
                          "without the lease check: define BERTH_WITH_OPENSSL");
  return berth__leave(c, kind);
}
#endif

/* --- The client --- */

static pthread_once_t berth__once = PTHREAD_ONCE_INIT;
static pthread_mutex_t berth__clients_lock = PTHREAD_MUTEX_INITIALIZER;
static berth_client *berth__clients;

/* Ends all calls, releases the slots and ends the thread; 0 seconds: takes as long as it needs. */
static void berth__close(berth_client *c, double seconds) {
  berth__holding *h;
  berth_error e;
  int kind = BERTH_OK, has_thread;
  pthread_mutex_lock(&c->lock);
  c->is_closing = 1;
  if (seconds > 0) c->give_up_at = berth__now() + seconds;
  pthread_cond_broadcast(&c->changed);
  while (c->calls > 0 && (!c->give_up_at || berth__now() < c->give_up_at)) berth__wait(c, 1);
  has_thread = c->has_thread && !berth__is_thread(c);
  pthread_mutex_unlock(&c->lock);
  if (has_thread) pthread_join(c->thread, NULL);
  pthread_mutex_lock(&c->lock);
  if (has_thread) c->has_thread = 0;
  for (h = c->holdings; h && kind != BERTH_UNAVAILABLE; h = h->next) {
    if (h->feature[0] || h->state != BERTH__HELD || h->now.is_borrowed || h->is_borrowed_here) continue;
    h->state = BERTH__RELEASING;
    pthread_mutex_unlock(&c->lock);
    kind = berth__send_release(c, h, &e);
    pthread_mutex_lock(&c->lock);
    berth__end(c, h, NULL);
  }
  pthread_mutex_unlock(&c->lock);
}

static void berth__at_exit(void) {
  berth_client *c;
  double end = berth__now() + 3;
  pthread_mutex_lock(&berth__clients_lock);
  for (c = berth__clients; c; c = c->next) {
    if (c->pid == getpid()) berth__close(c, end - berth__now() > 0.1 ? end - berth__now() : 0.1);
  }
  pthread_mutex_unlock(&berth__clients_lock);
}

static void berth__initialize(void) {
  curl_global_init(CURL_GLOBAL_DEFAULT);
  atexit(berth__at_exit); /* after what libcurl's libraries registered: runs before it */
}

void berth_client_free(berth_client *c) {
  berth_client **at = &berth__clients;
  if (!c || c->pid != getpid()) return;
  pthread_mutex_lock(&berth__clients_lock);
  while (*at && *at != c) at = &(*at)->next;
  if (*at) *at = c->next;
  pthread_mutex_unlock(&berth__clients_lock);
  berth__close(c, 0);
  while (c->holdings) {
    berth__holding *h = c->holdings;
    while (h->handles) {
      berth_slot *handle = h->handles;
      h->handles = handle->next;
      free(handle);
    }
    c->holdings = h->next;
    free(h->now.license);
    free(h);
  }
  pthread_cond_destroy(&c->changed);
  pthread_mutex_destroy(&c->lock);
  free(c);
}

/* Takes the next part of a list that is separated by commas; 0: there is none. */
static int berth__next_part(const char **list, char *out, size_t room) {
  size_t size;
  if (!*list || !**list) return 0;
  size = strcspn(*list, ",");
  snprintf(out, room, "%.*s", (int)size, *list);
  *list += size + ((*list)[size] == ',');
  return 1;
}

static int berth__add_url(berth_client *c, const char *url) {
  size_t size = strlen(url), scheme = !strncmp(url, "http://", 7) ? 7 : strncmp(url, "https://", 8) ? 0 : 8;
  if (!scheme || c->server_count == 8 || size > 500) return 0;
  while (size > scheme && url[size - 1] == '/') size--;
  if (size == scheme || url[scheme] == '/' || url[scheme] == ':' || strpbrk(url, "@?# \t\r\n\"\\")) return 0;
  memcpy(c->servers[c->server_count++].url, url, size);
  return 1;
}

/* The default nonce: a digest of the machine id. */
static void berth__choose_nonce(berth_client *c) {
#ifdef BERTH_WITH_OPENSSL
  static const char *const files[] = {"/etc/machine-id", "/var/lib/dbus/machine-id"};
  char id[128], text[160];
  unsigned char hash[32];
  size_t i;
  for (i = 0; i < 2 && !c->nonce[0]; i++) {
    FILE *file = fopen(files[i], "r");
    if (file && fscanf(file, "%127s", id) == 1) {
      snprintf(text, sizeof text, "berth-device-v1:%s", id);
      berth__sha256(text, strlen(text), hash);
      berth__hex(hash, 32, c->nonce);
    }
    if (file) fclose(file);
  }
#else
  (void)c;
#endif
}

static const char *berth__configure(berth_client *c, const berth_options *o) {
  static const char legal[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._~-";
  const char *list;
  char part[600];
  for (list = o->urls; berth__next_part(&list, part, sizeof part);) {
    if (!berth__add_url(c, part)) return "urls must be up to 8 texts http://HOST or https://HOST";
  }
  if (!c->server_count) return "urls is empty";
  if (!o->product || !*o->product || !berth__copy(c->product, sizeof c->product, o->product)) {
    return "product must have 1 to 256 bytes";
  }
  c->timeout = o->timeout == 0 ? 15 : o->timeout;
  c->retry_for = o->retry_for != 0 ? o->retry_for : c->server_count > 1 ? 30 : 10;
  if (!(c->timeout > 0 && c->timeout < 1e6)) return "timeout must be positive";
  if (!berth__copy(c->name, sizeof c->name, o->login_name)
      || !berth__copy(c->password, sizeof c->password, o->login_password)) return "login is too long";
  if (!berth__copy(c->nonce, sizeof c->nonce, o->nonce)
      || (o->nonce && (strlen(o->nonce) < 16 || strspn(o->nonce, legal) != strlen(o->nonce)))) {
    return "nonce must have 16 to 128 characters of A-Z a-z 0-9 . _ ~ -";
  }
  for (list = o->vendor_keys; berth__next_part(&list, part, sizeof part); c->key_count++) {
    if (c->key_count == 8 || strlen(part) != 43 || berth__decode(part, 43, c->keys[c->key_count]) != 32) {
      return "vendor_keys must be up to 8 texts `x` of 43 characters";
    }
  }
  return NULL;
}

int berth_client_new(const berth_options *o, berth_client **client, berth_error *error) {
  pthread_condattr_t attributes;
  const char *files[2], *problem;
  berth_client *c = (berth_client *)calloc(1, sizeof *c);
  int i, kind = BERTH_OK;
  *client = NULL;
  if (!c) return berth__fail(error, BERTH_OUT_OF_MEMORY, "out_of_memory", "out of memory");
  problem = berth__configure(c, o);
  if (problem) kind = berth__invalid(error, problem);
  files[0] = o->ca;
  files[1] = o->certificate;
  for (i = 0; i < 2 && kind == BERTH_OK; i++) {
    if (!files[i]) continue;
    if (access(files[i], R_OK) || !berth__copy(i ? c->certificate : c->ca, 1024, files[i])) {
      kind = berth__fail(error, BERTH_INVALID_ARGUMENT, "invalid_argument",
                         "the file %s cannot be read", files[i]);
    }
  }
  if (kind != BERTH_OK) {
    free(c);
    return kind;
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
  return berth__fail(error, BERTH_OK, "", "");
}
#endif
