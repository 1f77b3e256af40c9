/* berth.h: client of the Berth license server for C99. One file; needs libcurl and POSIX threads.
 * SPDX-License-Identifier: Apache-2.0
 * In one C file, before any other #include:  #define BERTH_IMPLEMENTATION  (-lcurl -pthread)
 * For berth_verify and the default nonce:    #define BERTH_WITH_OPENSSL    (-lcrypto)
 * In this and in other files, also in C++:   #include "berth.h"
 *
 *   berth_options options = {.urls = "https://a.lan:8443,https://b.lan:8443", .product = "CAD"};
 *   if (berth_client_new(&options, &client, &error)) return show(error.message);
 *   if (berth_acquire(client, "ada#ws-17", NULL, &slot, &error)) return show(error.message);
 *   ...                                        a thread of the client renews the slot
 *   berth_slot_release(slot, NULL); berth_client_free(client);
 *
 * Calls return a berth_kind; BERTH_OK is 0. After an error, handles are NULL and other results are
 * empty. `error` and the options of a call may be NULL. Any thread may make any call. While no
 * server answers, a slot is held until its time-out; then on_loss is called. In a child of fork no
 * slot is held, and calls fail with `forked`. exit() releases the slots, in 3 seconds at most; a
 * killed process leaves them to the time-out.
 * Names are compared byte by byte: give those of one user always in the same Unicode form. */
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
  BERTH_TLS_FAILED,       /* no server can be used by TLS; not repeated */
  BERTH_OTHER_APPLIANCE,  /* a URL leads to another license server than the first answer */
  BERTH_LEASE_REFUSED,    /* berth_verify: do not accept the lease */
  BERTH_INVALID_ARGUMENT, /* found before any call; also `client_closed` and `forked` */
  BERTH_OUT_OF_MEMORY
} berth_kind;
typedef struct {
  berth_kind kind;
  int status, position;        /* of HTTP, 0: no reply; place in the queue, -1: none */
  char code[40], message[1024]; /* for the program; for the user */
  char request_id[64];         /* of the request in the server's log */
  char key[65]; /* of borrow and consume, if no server answered: repeat the call with this key */
} berth_error;
typedef struct berth_client berth_client;
typedef struct berth_slot berth_slot;
typedef struct berth_feature berth_feature;
/* Called once for each acquire of a slot that is lost, unless that one was released. The client's
 * thread calls it: no slot is renewed until it returns. It may call the client, except
 * berth_client_free. */
typedef void berth_loss_callback(void *data, const char *user, const berth_error *error);
/* Called while berth_acquire waits, in the same thread. Position 1 gets the next slot. It must not
 * call the client for the same user: that call would wait for this one. */
typedef void berth_wait_callback(void *data, int position, int length);
typedef struct { /* zero or NULL: the default */
  const char *urls, *product;              /* up to 8 URLs of one server, separated by commas */
  const char *ca, *certificate;            /* PEM files: the only trusted CA; certificate and key */
  const char *login_name, *login_password; /* for client_auth = "login" */
  int allow_plain_password;                /* 1: send it to other machines also without TLS */
  double timeout;                          /* seconds for one HTTP exchange; default 15 */
  double retry_for;                        /* seconds; default 30, with one URL 10; < 0: none */
  const char *nonce;                       /* of this device */
  const char *root_keys; /* of the vendor, for berth_verify; up to 8 texts `x` with commas */
  const char *retired;   /* issuing keys that berth_verify refuses; up to 64 texts `x` */
} berth_options;
typedef struct {
  double wait;           /* seconds to wait for a free slot */
  long long license_id;  /* 0: the server chooses; also in the options below */
  const char *user_info; /* for the operator */
  berth_loss_callback *on_loss; berth_wait_callback *on_wait; void *loss_data, *wait_data;
} berth_acquire_options;
typedef struct {
  long long license_id; char registered_at[32], expires_at[32]; int is_held, is_borrowed;
} berth_slot_information;
typedef struct {
  const char *until, *key; /* RFC 3339, must be given; idempotency key, NULL: is made */
  long long license_id;
} berth_borrow_options;
typedef struct {
  char user[257], borrowed_until[32], *lease, *license; /* keep the last two for berth_verify */
  long long license_id;
} berth_borrowed;
typedef struct {
  const char *feature, *user, *key; long long license_id;
  const long long *max_overages; /* NULL: as the license says */
  int allow_overages;            /* 1 yes, -1 no, 0 as the license says */
} berth_consume_options;
typedef struct {
  long long total, maximum, license_id; char key[65]; /* maximum -1: none */
} berth_consumption;
typedef struct {
  char user[257], product[257], expires_at[32]; long long license_id, serial;
} berth_lease;
int berth_client_new(const berth_options *, berth_client **, berth_error *); /* makes no request */
/* Waits for calls in progress, releases all slots that are not borrowed, and frees the client
 * with its slots and features: none of them may be used any more. */
void berth_client_free(berth_client *);
const char *berth_nonce(const berth_client *); /* of this device; empty: none was found or given */
/* Takes a slot. The same user and license_id again share it, and the last release frees it. */
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
/* Takes a slot until a date, without renewals. */
int berth_borrow(berth_client *, const char *user, const berth_borrow_options *, berth_borrowed *,
                 berth_error *);
void berth_borrow_free(berth_borrowed *);
/* Returns the user's borrow, or releases the user's slot. */
int berth_release(berth_client *, const char *user, berth_error *);
/* Counts n once, however often it has to be sent. */
int berth_consume(berth_client *, long long n, const berth_consume_options *, berth_consumption *,
                  berth_error *);
/* Checks a lease and its license by the vendor's root key; makes no request. */
int berth_verify(berth_client *, const char *lease, const char *license, berth_lease *,
                 berth_error *);
#ifdef __cplusplus
}
#endif
#endif
#if defined(BERTH_IMPLEMENTATION) && !defined(BERTH_IMPLEMENTED)
#define BERTH_IMPLEMENTED
#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE
#endif
#include <curl/curl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>
#ifdef BERTH_WITH_OPENSSL
#include <openssl/evp.h>
#endif
/* The limits of a lease and a license, in bytes: of a signed document, of the certificate in it,
 * of the proof of a license by code, and of the members of one object. The other clients have the
 * same ones. */
#define B_MAX_DOCUMENT 49152
#define B_MAX_CERTIFICATE 1024
#define B_MAX_BUNDLE 131072
#define B_MAX_MEMBERS 256
#define B_YEAR_9999 253402300799LL /* its last second */
/* Layout, to keep the file short: statements of one step share a line, as does a closing brace. */
#define B_COUNT(array) (sizeof(array) / sizeof *(array))
#define B_AT(place) &(place), sizeof(place)
#define B_SET(option, value) curl_easy_setopt(curl, CURLOPT_##option, value)
#define B_FIELDS(...) (const b_field[]){__VA_ARGS__, {0, NULL, NULL, 0}}
/* A member of an object, and the place for its value: t char[], s char * (to be freed), j such a
 * text that is an object, b int, m double for minutes, i long long, n such a number that is not
 * negative, h one up to 1e9. For a capital letter, null and absent leave the place as it is. */
typedef struct { char type; const char *path; void *place; size_t size; } b_field;
typedef struct { char *data; size_t size, room; int has_failed; } b_buffer; /* ends with NUL */
typedef struct { /* a call, with the last reply to it */
  berth_client *client; const char *path, *accept, *nonce, *key, *hint; /* what helps */
  char *body, **text; /* NULL: GET, freed by b_call; for a reply that is not JSON */
  const b_field *fields; /* of the reply; NULL: any reply will do */
  double wait_until;     /* for the header Prefer; 0: without it */
  const struct b_fault *fault; /* why the last exchange failed; NULL: another reason, or none */
  int is_login, is_release, is_cancellable, has_new_login, queue_length;
  int was_sent; /* or a part of it, in any attempt */
  double timeout, retry_for, sent_at, retry_after;
  double unanswered_at; /* when the first server did not answer; 0: all did */
  char appliance[64], request_id[64], preference[16]; b_buffer reply; long status;
} b_request;
typedef struct { berth_slot_information info; char *license; double minutes; } b_registration;
/* A slot of a user or of a feature. Changes only with the client's lock. It is being taken (busy,
 * not held), held, being released (busy, not held), or has ended (neither). */
typedef struct b_hold b_hold;
/* What the application has of a slot or of a feature: each acquire gives one of its own. */
struct berth_slot {
  b_hold *hold;
  berth_slot *next; /* of the same hold */
  berth_loss_callback *on_loss;
  void *data;
  int is_loss_due, is_released;
};
/* A slot of a user or of a feature. Changes only with the client's lock. It is being taken (busy,
 * not held), held, being released (busy, not held), or has ended (neither). */
struct b_hold {
  berth_client *client; b_hold *next, *slot; /* slot: of a feature; NULL: that has ended */
  berth_slot *handles;
  int is_busy, is_held, is_refused, failures, claim; /* see b_claim */
  int is_borrow_unsure; char borrowed_until[32]; /* by this client; "": not borrowed by it */
  double ends_at, renew_at, renewed_at, released_at; long long license_id; /* wanted; 0: any */
  char user[257], feature[257], user_info[4097];
  b_registration now; berth_error loss;
};
typedef struct { char url[512], token[512]; int has_answered; } b_server;
struct berth_client {
  pthread_mutex_t lock; /* never held during a request or a callback */
  pthread_cond_t changed; pthread_t thread; pid_t pid;
  int has_thread, has_thread_ended, is_closing, calls, server_count, current, root_count;
  int retired_count;
  double timeout, retry_for, give_up_at; /* give_up_at: the end of all calls, at exit; else 0 */
  double unanswered_at; /* when the last heartbeat failed that no server answered */
  char appliance[64], product[257], ca[1024], certificate[1024], login[520], nonce[129], host[257];
  unsigned char roots[8][32], retired[64][32]; b_server servers[8]; berth_client *next;
  b_hold *slots;
  berth_slot *reporting; /* its on_loss is being called */
};
static pthread_once_t b_once = PTHREAD_ONCE_INIT;
static pthread_mutex_t b_clients_lock = PTHREAD_MUTEX_INITIALIZER; static berth_client *b_clients;
static void b_lock(berth_client *c) { pthread_mutex_lock(&c->lock); }
static void b_unlock(berth_client *c) { pthread_mutex_unlock(&c->lock); }
static void b_wake(berth_client *c) { pthread_cond_broadcast(&c->changed); }
static int b_is(const char *text, const char *other) { return !strcmp(text, other); }
static double b_least(double one, double other) { return one < other ? one : other; }
static int b_copy(void *to, size_t room, const char *from) { /* 0: too long */
  return snprintf(to, room, "%s", from ? from : "") < (int)room; }
static void b_clean(void *out, size_t room, const char *from);
static int b_fail(berth_error *e, berth_kind kind, const char *code, const char *format, ...) {
  va_list list; char message[2048]; if (!e) return kind;
  *e = (berth_error){.kind = kind, .position = -1}; b_clean(B_AT(e->code), code);
  va_start(list, format); vsnprintf(message, sizeof message, format, list); va_end(list);
  b_clean(B_AT(e->message), message); return kind; }
static int b_invalid(berth_error *e, const char *code, const char *message) {
  return b_fail(e, BERTH_INVALID_ARGUMENT, code, "%s", message); }
static void b_append(b_buffer *b, const void *data, size_t size) {
  size_t room = b->size + size < b->room ? b->room : 2 * (b->size + size) + 64;
  char *grown = room == b->room ? b->data : realloc(b->data, room);
  if (!grown) { b->has_failed = 1; return; } memcpy(grown + b->size, data, size);
  b->data = grown; b->room = room; b->size += size; grown[b->size] = '\0'; }
/* --- JSON: a text is checked once as a whole; then values are found by pointers into it. --- */
static const char *b_space(const char *p) { return p ? p + strspn(p, " \t\r\n") : ""; }
static const char *b_digits(const char *p) { return p + strspn(p, "0123456789"); }
static int b_escape(const char *p, unsigned *code) { /* returns its size; 0: malformed */
  static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
  const char *name = *p == '\\' && p[1] ? strchr(names, p[1]) : NULL;
  if (name) { *code = (unsigned char)values[name - names]; return 2; }
  if (strncmp(p, "\\u", 2)) return 0;
  char digits[5] = "";
  strncat(digits, p + 2, 4); /* sscanf and strspn would read on to the end of the reply */
  *code = (unsigned)strtoul(digits, NULL, 16);
  return strspn(digits, "0123456789abcdefABCDEF") == 4 ? 6 : 0; }
/* Moves over one character of a string and writes it to out[4]. Returns its size; 0: malformed. */
static int b_character(const char **at, char *out) {
  static const unsigned least[] = {0x20, 0x80, 0x800, 0x10000}; /* by the size in UTF-8 */
  const char *p = *at; unsigned code = (unsigned char)*p, low = 0;
  int size = code < 0x80 ? 1 : code < 0xE0 ? 2 : code < 0xF0 ? 3 : 4, is_good = code >> 6 != 2;
  if (*p == '\\') {
    size = b_escape(p, &code);
    if (code >> 10 == 0x36 && b_escape(p + 6, &low) && low >> 10 == 0x37) size = 12;
    if (size == 12) code = 0x10000 + ((code & 0x3FF) << 10) + (low & 0x3FF);
    if (code == 0 || code >> 11 == 0x1B) code = 0xFFFD; /* no character of a text in C */
    is_good = size > 0;
  } else {
    code &= 0xFFu >> size;
    for (int i = 1; i < size && is_good; i++) {
      is_good = (p[i] & 0xC0) == 0x80; code = code << 6 | (p[i] & 0x3F); }
    is_good = is_good && code >= least[size - 1] && code >> 11 != 0x1B && code <= 0x10FFFF; }
  if (!is_good) return 0;
  *at += size; size = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  for (int i = size - 1; i > 0; i--, code >>= 6) out[i] = (char)(0x80 | (code & 0x3F));
  out[0] = (char)(size == 1 ? code : (0xF00u >> size & 0xFF) | code); return size; }
/* Characters that could change a terminal which shows them, or the order of a text: those of the
 * Unicode categories Cc, Cf, Zl and Zp. */
static const unsigned b_unprinted[][2] = {
  {0x0, 0x1F}, {0x7F, 0x9F}, {0xAD, 0xAD}, {0x600, 0x605}, {0x61C, 0x61C}, {0x6DD, 0x6DD},
  {0x70F, 0x70F}, {0x890, 0x891}, {0x8E2, 0x8E2}, {0x180E, 0x180E}, {0x200B, 0x200F},
  {0x2028, 0x202E}, {0x2060, 0x206F}, {0xFEFF, 0xFEFF}, {0xFFF9, 0xFFFB}, {0x110BD, 0x110BD},
  {0x110CD, 0x110CD}, {0x13430, 0x1343F}, {0x1BCA0, 0x1BCA3}, {0x1D173, 0x1D17A},
  {0xE0001, 0xE0001}, {0xE0020, 0xE007F}};
static int b_is_printed(const char *utf8, int size) {
  unsigned code = (unsigned char)*utf8 & (size == 1 ? 0x7F : 0x7F >> size);
  for (int i = 1; i < size; i++) code = code << 6 | (utf8[i] & 0x3F);
  for (size_t i = 0; i < B_COUNT(b_unprinted); i++)
    if (code >= b_unprinted[i][0] && code <= b_unprinted[i][1]) return 0;
  return size > 0;
}
/* Copies as many characters as there is room for. Those that are not printed, and bytes that are
 * no UTF-8, become one space for several in a row. Spaces at both ends are left out. */
static void b_clean(void *out, size_t room, const char *from) {
  char *to = out;
  size_t used = 0;
  int has_gap = 0;
  while (*from) {
    char next[4] = {*from};
    int size = 1;
    if (*from == '\\') from++; /* for b_character, the begin of an escape */
    else size = b_character(&from, next);
    if (size == 0) from++;
    if (!b_is_printed(next, size) || (*next == ' ' && used == 0)) {
      has_gap = used > 0;
      continue;
    }
    if (used + (size_t)(has_gap + size) >= room) break;
    if (has_gap) to[used++] = ' ';
    memcpy(to + used, next, (size_t)size);
    used += (size_t)size;
    has_gap = 0;
  }
  while (used > 0 && to[used - 1] == ' ') used--;
  to[used] = '\0';
}
static const char *b_skip_string(const char *p) {
  char unused[4]; int size = *p++ == '"'; while (size && *p != '"') size = b_character(&p, unused);
  return size ? p + 1 : NULL; }
/* Returns the end of a number; NULL: malformed. strtod would depend on the locale. */
static const char *b_number(const char *p, double *out) {
  const char *start = p + (*p == '-'), *point = b_digits(start), *end = point;
  double value = 0, unit = 1; if (*point == '.') end = b_digits(point + 1);
  if (point == start || (*start == '0' && point > start + 1) || end == point + 1) return NULL;
  for (const char *digit = start; digit < end; digit++) {
    if (digit != point) value = value * 10 + (*digit - '0');
    if (digit > point) unit *= 10; }
  *out = (*p == '-' ? -value : value) / unit; if (*end != 'e' && *end != 'E') return end;
  *out = 1e300; /* numbers with an exponent have no use here, and are out of range */
  return end + strspn(end, "eE+-0123456789"); }
/* Notes the name of a member, in its quotes, after those of the same object, which begin at
 * `first`. 0: it is repeated, is one too many, or has an escape. */
static int b_add_name(b_buffer *names, size_t first, const char *name, size_t size) {
  size_t count = (names->size - first) / sizeof name;
  for (size_t i = 0; i < count; i++) {
    const char *other;
    memcpy(&other, names->data + first + i * sizeof other, sizeof other);
    if (!strncmp(other, name, size)) return 0;
  }
  b_append(names, &name, sizeof name);
  return !names->has_failed && count < B_MAX_MEMBERS && !memchr(name, '\\', size);
}
/* Returns the end of a value; NULL: malformed. With `names`, which has those of the objects around
 * it, the value is read strictly: see b_add_name. Of an object, `found` gets the last member with
 * a name, if there is one. */
static const char *b_skip(const char *p, int depth, b_buffer *names, const char *name, size_t size,
    const char **found) {
  const char close = *p == '{' ? '}' : ']'; double unused; size_t first = names ? names->size : 0;
  if (!strncmp(p, "true", 4) || !strncmp(p, "null", 4)) return p + 4;
  if (!strncmp(p, "false", 5)) return p + 5; else if (*p == '"') return b_skip_string(p);
  if (*p != '{' && *p != '[') return b_number(p, &unused);
  p = b_space(p + 1); if (*p == close) return p + 1;
  for (; depth > 0; p = b_space(p + 1)) {
    if (close == '}') {
      const char *key = p, *end = b_skip_string(p); p = b_space(end);
      if (*p != ':') return NULL;
      if (names && !b_add_name(names, first, key, (size_t)(end - key))) return NULL;
      p = b_space(p + 1);
      if (name && !strncmp(key + 1, name, size) && key[1 + size] == '"') *found = p; }
    p = b_space(b_skip(p, depth - 1, names, NULL, 0, NULL));
    if (*p == close) {
      if (names) names->size = first;
      return p + 1;
    }
    if (*p != ',') return NULL; }
  return NULL; }
static int b_is_object(const char *text, size_t size, int is_strict) {
  const char *p = b_space(text);
  b_buffer names = {0};
  const char *end = *p == '{' ? b_skip(p, 64, is_strict ? &names : NULL, NULL, 0, NULL) : NULL;
  free(names.data);
  return end && b_space(end) == text + size;
}
/* Finds a value in a checked object by a path such as "queue.position"; NULL: absent. */
static const char *b_find(const char *json, const char *path) {
  for (size_t size; json && *path; path += size + (path[size] == '.')) {
    const char *open = b_space(json); json = NULL; size = strcspn(path, ".");
    if (*open == '{') b_skip(open, 64, NULL, path, size, &json); }
  return json; }
static char *b_text(const char *value) {
  char *text = *value == '"' ? calloc(1, strlen(value)) : NULL, *end = text;
  for (value++; text && *value != '"';) end += b_character(&value, end);
  return text; }
static int b_read(const char *json, const b_field *field) {
  int is_good = 1; for (; is_good && field->path; field++) {
    const char *value = b_find(json, field->path); char type = field->type | 0x20;
    /* A slot is renewed three times in its time-out: less than a second would be a flood. */
    double number, low = type == 'i' ? -0x1p53 : type == 'm' ? 0.99 / 60 : -1;
    double high = type == 'm' ? 1e7 : type == 'h' ? 1e9 + 1 : 0x1p53;
    if ((!value || *value == 'n') && type != field->type) continue;
    if (!value) return 0;
    char *text = b_text(value), **place = field->place;
    if (strchr("stj", type)) {
      is_good = text && (type != 'j' || b_is_object(text, strlen(text), 0))
          && (type != 't' || b_copy(place, field->size, text));
      if (type != 't') { free(*place); *place = text; text = NULL; }
    } else if (type == 'b') {
      is_good = *value == 't' || *value == 'f'; *(int *)field->place = *value == 't';
    } else {
      is_good = b_number(value, &number) && number > low && number < high
          && (type == 'm' || (double)(long long)number == number);
      if (is_good && type == 'm') *(double *)field->place = number;
      else if (is_good) *(long long *)field->place = (long long)number; }
    free(text); }
  return is_good; }
static void b_append_string(b_buffer *b, const char *text) {
  b_append(b, "\"", 1);
  for (char escape[8]; *text; text++) {
    int is_plain = (unsigned char)*text >= 0x20 && *text != '"' && *text != '\\';
    int size = snprintf(escape, sizeof escape, is_plain ? "%c" : "\\u%04x", *text);
    b_append(b, escape, (size_t)size); }
  b_append(b, "\"", 1); }
/* Makes an object, to be freed, of pairs of name and text up to NULL, without empty texts. */
static char *b_object(const char *name, ...) {
  b_buffer b = {0}; va_list list; va_start(list, name);
  for (; name; name = va_arg(list, const char *)) {
    const char *text = va_arg(list, const char *); if (!text || !*text) continue;
    b_append(&b, b.size ? "," : "{", 1); b_append_string(&b, name);
    b_append(&b, ":", 1); b_append_string(&b, text); }
  b_append(&b, "}", 1); va_end(list); if (b.has_failed) { free(b.data); b.data = NULL; }
  return b.data; }
/* Seconds of the clock that also counts while the machine sleeps, if there is one. */
#ifndef CLOCK_BOOTTIME
#define CLOCK_BOOTTIME CLOCK_MONOTONIC
#endif
static double b_now(void) {
  struct timespec t = {0, 0}; clock_gettime(CLOCK_BOOTTIME, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9; }
/* Waits for a change, with the lock; 1 second at most: this clock stops in a sleeping machine. */
static void b_wait(berth_client *c, double seconds) {
  struct timespec t = {0, seconds >= 1 ? 999999999L : seconds > 0 ? (long)(seconds * 1e9) : 0};
#ifdef __APPLE__
#define pthread_condattr_setclock(attributes, clock)
  pthread_cond_timedwait_relative_np(&c->changed, &c->lock, &t);
#else
  long end = t.tv_nsec; clock_gettime(CLOCK_MONOTONIC, &t); end += t.tv_nsec;
  t.tv_sec += end / 1000000000L; t.tv_nsec = end % 1000000000L;
  pthread_cond_timedwait(&c->changed, &c->lock, &t);
#endif
}
/* Changes a time by a random part of it, up to the share, so that clients do not call together. */
static double b_jitter(double seconds, double share) {
  unsigned char random; if (getentropy(&random, 1)) random = 128;
  return seconds * (1 + share * (random / 127.5 - 1)); }
static void b_hex(const unsigned char *bytes, size_t size, char *out) {
  for (; size-- > 0; out += 2) snprintf(out, 3, "%02x", *bytes++); }
/* --- HTTP --- */
static int b_must_stop(const b_request *r) {
  berth_client *c = r->client; b_lock(c);
  int is_late = c->give_up_at > 0 && b_now() > c->give_up_at;
  int must_stop = is_late || (c->is_closing && r->is_cancellable); b_unlock(c); return must_stop; }
static void b_pause(const b_request *r, double seconds) {
  for (double end = b_now() + seconds; b_now() < end && !b_must_stop(r);) {
    b_lock(r->client); b_wait(r->client, end - b_now()); b_unlock(r->client); }
}
static int b_on_progress(void *r, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d) {
  return a + b + c + d < 0 || b_must_stop(r); }
static size_t b_on_body(char *data, size_t one, size_t size, void *request) {
  b_buffer *b = &((b_request *)request)->reply; if (b->size + size > 1024 * 1024) return 0;
  b_append(b, data, one * size); return b->has_failed ? 0 : size; }
static size_t b_on_header(char *data, size_t one, size_t size, void *request) {
  b_request *r = request; char line[256]; snprintf(line, sizeof line, "%.*s", (int)size, data);
  for (char *p = line; *p && *p != ':'; p++) *p |= 0x20; /* small letters in any locale */
  sscanf(line, "berth-appliance: %63[!-~]", r->appliance);
  sscanf(line, "x-request-id: %63[!-~]", r->request_id);
  sscanf(line, "preference-applied: %15[!-~]", r->preference);
  if (!strncmp(line, "retry-after:", 12)) r->retry_after = atoi(line + 12);
  return one * size; }
/* Faults of TLS, which repeating the request does not mend, by the words of libcurl and its TLS
 * library in small letters. The last of a code has no words. */
typedef struct b_fault {
  CURLcode code;
  const char *words, *text, *hint; /* text: of the server; NULL: the network is to blame */
  int has_details;
} b_fault;
#define B_REFUSAL_WORDS \
  "certificate required|bad certificate|certificate unknown|unsupported certificate|" \
  "certificate expired|certificate revoked|unknown ca|access denied|handshake failure"
#define B_REFUSAL_TEXT "refused the certificate of this client, or wants one"
#define B_REFUSAL_HINT \
  "give a certificate that the server accepts with the option certificate"
static const b_fault b_faults[] = {
  {CURLE_PEER_FAILED_VERIFICATION, "expir", "has a certificate that has expired",
    "renew it on the server with berth tls init, and check the clock of this machine", 0},
  {CURLE_PEER_FAILED_VERIFICATION, "yet valid|not activated|valid yet",
    "has a certificate that is not valid yet",
    "check the clocks of this machine and of the server", 0},
  {CURLE_PEER_FAILED_VERIFICATION, "subject name|not match",
    "has a certificate for other names", "use a name of the server that is in its certificate", 1},
  {CURLE_PEER_FAILED_VERIFICATION, "purpose|revoked", "cannot be used by TLS",
    "check its TLS settings", 1},
  {CURLE_PEER_FAILED_VERIFICATION, "", "has a certificate that is not trusted",
    "give the CA of the site with the option ca", 1},
  {CURLE_SSL_CACERT_BADFILE, "", "cannot be used by TLS", "check the file of the option ca", 1},
  {CURLE_SSL_CERTPROBLEM, "", "cannot be used by TLS", "check the file of the option certificate",
    1},
  {CURLE_SSL_CONNECT_ERROR, "wrong version|packet length|record layer|http request|tls packet",
    "does not answer by TLS", "check that the address is the TLS address", 0},
  {CURLE_SSL_CONNECT_ERROR, B_REFUSAL_WORDS, B_REFUSAL_TEXT, B_REFUSAL_HINT, 1},
  /* With TLS 1.3 a client learns after its request that the server refused its certificate. */
  {CURLE_RECV_ERROR, B_REFUSAL_WORDS, B_REFUSAL_TEXT, B_REFUSAL_HINT, 1},
  {CURLE_SEND_ERROR, B_REFUSAL_WORDS, B_REFUSAL_TEXT, B_REFUSAL_HINT, 1},
  {CURLE_SSL_CONNECT_ERROR,
    "syscall|reset|eof|closed|pipe|terminated|pull function|push function|timed out", NULL, NULL,
    0},
  {CURLE_SSL_CONNECT_ERROR, "", "cannot be used by TLS", "check its TLS settings", 1},
  {CURLE_SSL_CIPHER, "", "cannot be used by TLS", "check its TLS settings", 1},
  {CURLE_SSL_ISSUER_ERROR, "", "cannot be used by TLS", "check its TLS settings", 1},
  {CURLE_UNSUPPORTED_PROTOCOL, "\"https\" not|https not", "cannot be used",
    "build libcurl with TLS", 1}};
static int b_has_word(const char *text, const char *words) {
  while (*words) {
    char word[32];
    size_t size = strcspn(words, "|");
    snprintf(word, sizeof word, "%.*s", (int)size, words);
    if (strstr(text, word)) return 1;
    words += size + (words[size] == '|');
  }
  return 0;
}
static const b_fault *b_find_fault(CURLcode code, const char *problem) {
  char text[CURL_ERROR_SIZE];
  size_t i = 0;
  for (; problem[i]; i++) text[i] = problem[i] >= 'A' && problem[i] <= 'Z' ? problem[i] | 0x20
      : problem[i];
  text[i] = '\0';
  for (i = 0; i < B_COUNT(b_faults); i++) {
    const b_fault *fault = &b_faults[i];
    if (fault->code == code && (!*fault->words || b_has_word(text, fault->words)))
      return fault->text ? fault : NULL;
  }
  return NULL;
}
/* Sends a request to one server. If there is no whole reply, `problem` says why. */
static int b_exchange(b_request *r, const char *url, const char *token, int wait, char *problem) {
  const berth_client *c = r->client; struct curl_slist *headers = NULL, *longer;
  char address[1400], line[600], seconds[24];
  double timeout = (r->timeout > 0 ? r->timeout : c->timeout) + (wait > 0 ? wait : 0);
  CURL *curl = curl_easy_init(); CURLcode result = CURLE_OUT_OF_MEMORY;
  r->appliance[0] = r->request_id[0] = r->preference[0] = problem[0] = '\0';
  r->retry_after = r->status = 0; r->reply.size = 0; r->sent_at = b_now();
  b_append(&r->reply, "", 0); int is_ready = curl && r->reply.data;
  snprintf(address, sizeof address, "%s%s", url, r->path);
  snprintf(seconds, sizeof seconds, "wait=%d", wait);
  const char *const pairs[][2] = {
    {"Expect:", ""}, {"Content-Type: ", r->body ? "application/json" : NULL},
    {"Authorization: Bearer ", *token ? token : NULL}, {"Prefer: ", wait < 0 ? NULL : seconds},
    {"Accept: ", r->accept}, {"X-Nonce: ", r->nonce}, {"Idempotency-Key: ", r->key}};
  for (size_t i = 0; i < B_COUNT(pairs) && is_ready; i++) {
    if (!pairs[i][1]) continue;
    snprintf(line, sizeof line, "%s%s", pairs[i][0], pairs[i][1]);
    longer = curl_slist_append(headers, line); if (longer) headers = longer;
    is_ready = longer != NULL; } /* a request without its key must not be sent */
  if (is_ready) {
    B_SET(URL, address); B_SET(HTTPHEADER, headers); B_SET(PROXY, ""); B_SET(NOSIGNAL, 1L);
    B_SET(TIMEOUT_MS, (long)(timeout * 1000) + 1); B_SET(ERRORBUFFER, problem);
    B_SET(WRITEFUNCTION, b_on_body); B_SET(WRITEDATA, r);
    B_SET(HEADERFUNCTION, b_on_header); B_SET(HEADERDATA, r);
    B_SET(XFERINFOFUNCTION, b_on_progress); B_SET(XFERINFODATA, r); B_SET(NOPROGRESS, 0L);
    if (r->body) B_SET(POSTFIELDS, r->body);
    if (r->is_login) B_SET(USERPWD, c->login);
    if (c->certificate[0]) B_SET(SSLCERT, c->certificate);
    if (c->ca[0]) { B_SET(CAINFO, c->ca); B_SET(CAPATH, NULL); } /* not the system's */
    result = curl_easy_perform(curl); curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &r->status); }
  if (!problem[0]) snprintf(problem, CURL_ERROR_SIZE, "%s", curl_easy_strerror(result));
  long sent_size = 0;
  curl_easy_getinfo(curl, CURLINFO_REQUEST_SIZE, &sent_size);
  r->fault = b_find_fault(result, problem);
  if (sent_size > 0 && !r->fault) r->was_sent = 1;
  r->hint = r->fault ? r->fault->hint : "check the address and that the server runs";
  if (result == CURLE_COULDNT_RESOLVE_HOST) {
    strcpy(problem, "no such host");
    r->hint = "check the name of the server";
  }
  curl_easy_cleanup(curl); curl_slist_free_all(headers); return result == CURLE_OK; }
static int b_accept(b_request *r, int is_object) {
  const char *token = r->is_login ? r->fields->place : "-";
  if (r->fields && !(is_object && b_read(r->reply.data, r->fields))) return 0;
  if (!r->text) return *token && !strpbrk(token, "\r\n");
  free(*r->text); *r->text = strdup(r->reply.data); return *r->text && **r->text; }
/* What an attempt gives; of several, the largest is reported. */
enum { B_TLS_FAULT = 1, B_NO_REPLY, B_FOREIGN, B_REPLY, B_FINAL };
static int b_attempt(b_request *r, int index, berth_error *e) {
  berth_client *c = r->client; b_server *server = &c->servers[index];
  char token[512], pinned[64], problem[CURL_ERROR_SIZE], *code = NULL, *message = NULL;
  int rank = B_NO_REPLY, kind = BERTH_UNAVAILABLE; long long position = -1, length = 0; b_lock(c);
  double left = server->has_answered ? b_least(r->wait_until - b_now(), 30) : 0;
  int wait = r->wait_until <= 0 ? -1 : left > 0 ? (int)left : 0;
  strcpy(token, r->is_login ? "" : server->token); b_unlock(c);
  if (c->login[0] && !token[0] && !r->is_login) {
    b_request login = {.client = c, .path = "/auth", .is_login = 1,
        .is_cancellable = r->is_cancellable, .fields = B_FIELDS({'t', "token", B_AT(token)})};
    rank = b_attempt(&login, index, e); r->hint = login.hint; free(login.reply.data);
    return rank == B_FINAL && e->kind == BERTH_OK ? b_attempt(r, index, e) : rank; }
  int is_whole = b_exchange(r, server->url, token, wait, problem);
  if (is_whole) snprintf(problem, sizeof problem, "replied %ld", r->status);
  else r->appliance[0] = '\0';
  const b_field *refusal = B_FIELDS({'s', "code", B_AT(code)}, {'S', "message", B_AT(message)},
      {'H', "queue.position", B_AT(position)}, {'H', "queue.length", B_AT(length)});
  int is_object = b_is_object(r->reply.data, r->reply.size, 0);
  int is_refusal = is_object && r->status >= 400 && b_read(r->reply.data, refusal);
  if (is_refusal) b_clean(code, strlen(code) + 1, code);
  b_lock(c);
  strcpy(pinned, c->appliance);
  if (*pinned && r->appliance[0] && !b_is(pinned, r->appliance)) rank = B_FOREIGN;
  else if (!r->appliance[0]) rank = B_NO_REPLY; /* and reads nothing of it */
  else if (r->status / 100 == 2 && b_accept(r, is_object)) { rank = B_FINAL; kind = BERTH_OK; }
  else if (is_refusal && *code) {
    rank = r->status >= 500 || r->status == 408 || r->status == 429 ? B_REPLY : B_FINAL;
    int is_full = b_is(code, "floating_not_available") || b_is(code, "slots_capped");
    int is_gone = r->is_release && b_is(code, "user_not_registered");
    kind = rank == B_REPLY ? BERTH_UNAVAILABLE : is_full ? BERTH_NO_FREE_SLOT : is_gone ? BERTH_OK
        : r->status == 401 || r->status == 403 ? BERTH_ACCESS_DENIED : BERTH_REFUSED; }
  int needs_login = rank == B_FINAL && r->status == 401 && *token && !r->has_new_login;
  if (rank == B_FINAL) {
    strcpy(c->appliance, r->appliance); c->current = index; server->has_answered = 1;
    if (r->is_login && kind == BERTH_OK) strcpy(server->token, r->fields->place);
    if (needs_login) server->token[0] = '\0'; }
  b_unlock(c);
  if (rank == B_NO_REPLY && r->fault) {
    rank = B_TLS_FAULT;
    b_fail(e, BERTH_TLS_FAILED, "tls_failed", r->fault->has_details ? "%s %s: %s" : "%s %s",
        server->url, r->fault->text, problem);
  } else if (rank == B_NO_REPLY) {
    b_fail(e, BERTH_UNAVAILABLE, "unreachable", is_whole ? "%s %s, but not as Berth does"
        : "%s cannot be reached: %s", server->url, problem);
  } else if (rank == B_FOREIGN) {
    b_fail(e, BERTH_OTHER_APPLIANCE, "other_appliance", "%s is the license server %s, not %s; "
        "give only addresses of one server", server->url, r->appliance, pinned);
  } else {
    const char *more = r->status == 401 && !c->login[0] ? "; give the option login" : "";
    const char *name = code ? code : "";
    char text[301];
    b_clean(B_AT(text), message ? message : "");
    b_fail(e, kind, name, *text ? "%s %s: %s (%s)%s" : "%s %s: %s%s%s", server->url,
        rank == B_REPLY ? problem : "refused", *text ? text : name, *text ? name : "", more);
    e->position = (int)position; r->queue_length = (int)length; r->hint = ""; }
  e->status = (int)r->status; strcpy(e->request_id, r->request_id); free(code); free(message);
  r->has_new_login |= needs_login; return needs_login ? b_attempt(r, index, e) : rank; }
typedef struct { int rank; const char *hint; char text[400]; } b_outcome; /* of a server */
static void b_append_part(b_buffer *b, const char *part) {
  if (!*part) return;
  if (b->size) b_append(b, "; ", 2);
  b_append(b, part, strlen(part));
}
/* Says what the servers replied, then why others did not, and what helps. */
static void b_explain(berth_error *e, const b_outcome *outcomes, int count, double elapsed) {
  char seconds[40] = "", message[2048];
  b_buffer text = {0};
  int has_reply = 0;
  for (int i = 0; i < count; i++) {
    if (outcomes[i].rank != B_REPLY) continue;
    b_append_part(&text, outcomes[i].text);
    has_reply = 1;
  }
  for (int i = 0; i < count; i++)
    if (outcomes[i].rank != B_REPLY) b_append_part(&text, outcomes[i].text);
  if (elapsed >= 1)
    snprintf(seconds, sizeof seconds, has_reply ? "repeated for %.0f s" : " in %.0f s", elapsed);
  if (has_reply) b_append_part(&text, seconds);
  for (int i = 0; i < count; i++)
    if (outcomes[i].hint && text.data && !strstr(text.data, outcomes[i].hint))
      b_append_part(&text, outcomes[i].hint);
  int is_prefixed = !has_reply && e->kind == BERTH_UNAVAILABLE;
  snprintf(message, sizeof message, "%s%s%s%s", is_prefixed ? "no server answered" : "",
      is_prefixed ? seconds : "", is_prefixed ? ": " : "", text.data ? text.data : "");
  if (!text.has_failed) b_clean(B_AT(e->message), message);
  free(text.data);
}
static int b_call(b_request *r, berth_error *error) {
  berth_client *c = r->client; berth_error e, best;
  b_outcome outcomes[8] = {{0, NULL, ""}};
  int best_rank = r->body || r->accept ? 0 : B_FINAL; /* a POST needs its body */
  double started = b_now(), left, after;
  b_fail(&best, BERTH_OUT_OF_MEMORY, "out_of_memory", "out of memory");
  for (double pause = 0.25;; pause = b_least(2 * pause, 5)) {
    int fault_count = 0;
    b_lock(c); int first = c->current; b_unlock(c);
    after = b_jitter(pause, 0.25);
    for (int i = 0; i < c->server_count && best_rank < B_FINAL; i++) {
      b_outcome *outcome = &outcomes[(first + i) % c->server_count];
      if (outcome->rank != B_TLS_FAULT) {
        outcome->rank = b_attempt(r, (first + i) % c->server_count, &e);
        outcome->hint = r->hint;
        b_clean(B_AT(outcome->text), e.message);
        if (outcome->rank >= best_rank) { best = e; best_rank = outcome->rank; }
        if (r->retry_after > after) after = r->retry_after;
        if (best_rank < B_FINAL && r->unanswered_at <= 0) r->unanswered_at = b_now();
      }
      fault_count += outcome->rank == B_TLS_FAULT;
      if (best_rank == B_FINAL || !b_must_stop(r)) continue;
      b_invalid(&best, "client_closed", "the client was closed"); best_rank = B_FINAL; }
    int is_patient = r->is_release && b_is(best.code, "standby"); /* until the takeover */
    left = started + (is_patient ? 30 : r->retry_for) - b_now();
    if (best_rank == B_FINAL || left < 0.1 || fault_count == c->server_count) break;
    b_pause(r, b_least(after, left)); }
  free(r->reply.data); free(r->body);
  if (best.kind == BERTH_UNAVAILABLE || best.kind == BERTH_TLS_FAILED)
    b_explain(&best, outcomes, c->server_count, b_now() - started);
  if (error) *error = best;
  return best.kind; }
/* Begins a call, unless its arguments have a problem. After BERTH_OK, b_leave must follow. */
static int b_enter(berth_client *c, const char *problem, berth_error *e) {
  if (!c || c->pid != getpid()) return b_invalid(e, c ? "forked" : "invalid_argument",
      "no client of this process: create one");
  b_lock(c); int is_closing = c->is_closing; c->calls += !is_closing && !problem; b_unlock(c);
  if (is_closing) return b_invalid(e, "client_closed", "the client was closed");
  return problem ? b_invalid(e, "invalid_argument", problem) : b_fail(e, BERTH_OK, "", "%s", ""); }
static int b_leave(berth_client *c, int kind) {
  b_lock(c); c->calls--; b_wake(c); b_unlock(c); return kind; }
/* --- Slots of users and of features --- */
/* Registers or releases a slot at the server, without the lock, and notes what was granted. */
static int b_call_for(b_request *r, b_hold *h, berth_error *e) {
  int is_feature = h->feature[0] != '\0', is_release = r->is_release; char id[24];
  b_registration now = {.license = NULL}; b_field fields[] = {
    {'t', "registered_at", B_AT(now.info.registered_at)}, {'j', "license_json", B_AT(now.license)},
    {'t', "expires_at", B_AT(now.info.expires_at)}, {'n', "license_id", B_AT(now.info.license_id)},
    {'b', "is_borrowed", B_AT(now.info.is_borrowed)},
    {'m', "floating_timeout", B_AT(now.minutes)}, {0, NULL, NULL, 0}};
  r->fields = is_release ? NULL : is_feature ? fields + 5 : fields; /* a feature has the last */
  r->path = is_release ? is_feature ? "/api/v4/featureRelease" : "/api/v4/unregister"
      : is_feature ? "/api/v4/featureRegister" : "/api/v4/register";
  long long granted = is_release ? h->now.info.license_id : 0; /* nothing for 0, which means any */
  snprintf(id, sizeof id, "%.0lld", granted ? granted : h->license_id);
  r->body = b_object("product", r->client->product, "user", h->user, "feature", h->feature,
      "license_id", id, "os_hostname", is_release ? "" : r->client->host, "user_info",
      is_release ? "" : h->user_info, NULL);
  int kind = b_call(r, e); if (kind || is_release) { free(now.license); return kind; }
  b_lock(h->client); free(h->now.license); h->now = now; h->failures = h->is_refused = 0;
  h->renewed_at = r->sent_at; h->ends_at = r->sent_at + now.minutes * 60;
  h->renew_at = r->sent_at + b_jitter(now.minutes * 20, 0.1); b_unlock(h->client); return kind; }
static int b_unregister(b_hold *h, double timeout, double retry_for, berth_error *e) {
  b_request r = {.client = h->client, .is_release = 1, .retry_for = retry_for,
      .timeout = b_least(timeout, h->client->timeout)}; return b_call_for(&r, h, e); }
/* The functions up to b_run are called with the lock. */
static void b_end(b_hold *h) {
  for (b_hold *other = h->client->slots; other; other = other->next)
      if (other == h || other->slot == h) { other->is_held = 0; other->slot = NULL; }
}
static void b_unlink(b_hold *h) {
  b_hold **at = &h->client->slots; b_wake(h->client);
  while (*at != h) at = &(*at)->next;
  *at = h->next; }
static void b_drop(b_hold *h) {
  b_wake(h->client); if (h->handles || h->is_held || h->is_busy) return;
  b_unlink(h); free(h->now.license); free(h); }
static void b_drop_handle(berth_slot *handle) {
  b_hold *h = handle->hold;
  berth_slot **at = &h->handles;
  while (*at != handle) at = &(*at)->next;
  *at = handle->next;
  free(handle);
  b_drop(h);
}
/* Whether all other handles of the hold are released. */
static int b_is_last(const berth_slot *handle) {
  const berth_slot *other = handle->hold->handles;
  while (other && (other == handle || other->is_released)) other = other->next;
  return other == NULL;
}
static void b_renew(b_hold *h) {
  berth_client *c = h->client; berth_error e;
  double sixth = h->now.minutes * 10, pause = h->failures < 4 ? 1 << h->failures : 15;
  double started = b_now();
  int is_overslept = started >= h->ends_at && !h->failures;
  b_request r = {.client = c, .timeout = b_least(sixth < 1 ? 1 : sixth, c->timeout)};
  if (is_overslept) r.timeout = c->timeout;
  h->is_busy = 1; b_unlock(c); int kind = b_call_for(&r, h, &e); b_lock(c); h->is_busy = 0;
  /* A 400 of a proxy or of another license server says nothing about the slot. */
  int is_refused = e.status == 400 && kind != BERTH_UNAVAILABLE && kind != BERTH_OTHER_APPLIANCE;
  int has_ended = b_now() >= h->ends_at;
  /* A stop of the machine or of this process made the first heartbeat fail: try once more. */
  int is_interrupted = !is_overslept && !h->failures && r.unanswered_at >= h->ends_at;
  if (kind && !is_refused && !is_interrupted) c->unanswered_at = r.unanswered_at;
  if (is_refused && h->slot && !h->is_refused && b_is(e.code, "user_not_registered")) {
    h->is_refused = 1; h->slot->renew_at = h->slot->released_at = b_now(); /* the slot goes first */
  } else if (kind && h->is_held && (is_refused || (has_ended && !is_interrupted))) {
    char message[1400];
    b_end(h); h->loss = e;
    for (berth_slot *handle = h->handles; handle; handle = handle->next) handle->is_loss_due = 1;
    snprintf(message, sizeof message, "the %s%.60s of %.80s is lost: %s",
        h->feature[0] ? "feature " : "slot", h->feature, h->user, e.message);
    b_clean(B_AT(h->loss.message), message);
  } else if (kind) {
    pause = b_least(b_jitter(pause, 0.25), sixth);
    h->failures += !is_interrupted;
    h->renew_at = b_least(b_now() + pause, h->ends_at); }
  b_drop(h); }
/* Whether a slot is held. After a stop of the machine or of this process past its end it is, until
 * a heartbeat was answered by no server. Otherwise heartbeats have failed before the end, or the
 * thread cannot send any. */
static int b_is_kept(const b_hold *h) {
  const berth_client *c = h->client;
  int can_be_overslept = !h->failures && !c->reporting && !c->is_closing;
  int is_current = b_now() < h->ends_at || (can_be_overslept && c->unanswered_at < h->ends_at);
  return h->is_held && is_current && (!h->slot || b_is_kept(h->slot));
}
enum { B_NO_CLAIM, B_BORROW, B_RETURN };
static int b_is_claimed(const b_hold *h, int claim) {
  const b_hold *other = h->client->slots;
  while (other && (other->claim < claim || !b_is(other->user, h->user))) other = other->next;
  return other != NULL; }
static void *b_run(void *client) {
  berth_client *c = client; b_lock(c);
  while (!c->is_closing) {
    b_hold *next = NULL;
    berth_slot *lost = NULL;
    for (b_hold *h = c->slots; h; h = h->next) {
      for (berth_slot *handle = h->handles; handle; handle = handle->next)
        if (handle->is_loss_due) lost = handle;
      if (h->is_held && !h->is_busy && (!next || h->renew_at < next->renew_at)
          && !b_is_claimed(h, B_RETURN) /* a slot is renewed before its features */
          && (!h->slot || h->slot->renewed_at > h->slot->released_at)) next = h; }
    if (lost) {
      lost->is_loss_due = 0; c->reporting = lost; /* keeps it from being freed by another thread */
      b_unlock(c);
      if (lost->on_loss) lost->on_loss(lost->data, lost->hold->user, &lost->hold->loss);
      b_lock(c); c->reporting = NULL; b_wake(c);
      if (lost->is_released) b_drop_handle(lost); /* by its callback */
    } else if (next && next->renew_at <= b_now()) b_renew(next);
    else b_wait(c, next ? next->renew_at - b_now() : 1); }
  c->has_thread_ended = 1; b_wake(c); b_unlock(c); return NULL; }
static int b_is_thread(const berth_client *c) {
  return c->has_thread && pthread_equal(c->thread, pthread_self()); }
/* Starts the thread, which handles no signals of the application. */
static int b_start(berth_client *c) {
  sigset_t all, old; sigfillset(&all); pthread_sigmask(SIG_SETMASK, &all, &old);
  if (!c->has_thread) c->has_thread = !pthread_create(&c->thread, NULL, b_run, c);
  pthread_sigmask(SIG_SETMASK, &old, NULL); return c->has_thread; }
/* Takes a slot at the server, and waits for one if the caller wants to. Without the lock. */
static int b_wait_for_slot(b_hold *h, const berth_acquire_options *o, berth_error *e) {
  double end = b_now() + o->wait, left = o->wait, retry_for = h->client->retry_for;
  berth_error unused; if (!e) e = &unused; int has_place = 0;
  for (int is_first = 1;; is_first = 0) {
    b_request r = {.client = h->client, .is_cancellable = o->wait > 0,
        .wait_until = o->wait <= 0 ? 0 : is_first ? b_now() : end,
        .retry_for = left > retry_for ? left : retry_for};
    int kind = b_call_for(&r, h, e), is_queued = kind == BERTH_NO_FREE_SLOT && o->wait > 0;
    left = end - b_now(); has_place |= is_queued;
    if (is_queued && o->on_wait && e->position >= 0)
        o->on_wait(o->wait_data, e->position, r.queue_length);
    /* At once again if the server waited; but not if it only says so. */
    if (is_queued && !(r.preference[0] && (is_first || b_now() > r.sent_at + 0.5)))
        b_pause(&r, b_least(r.retry_after > 0 ? r.retry_after : 5, left));
    left = end - b_now(); if (is_queued && left > 0) continue;
    /* Leaves the queue. Without a place, this could return a borrow of the user. */
    if (is_queued || (has_place && kind == BERTH_INVALID_ARGUMENT)) b_unregister(h, 3, 0, NULL);
    return kind; }
}
/* With the lock: waits for acquires and releases of a user, then keeps out others until b_unlink.
 * The claim stands in the list of slots. A borrow does not keep out heartbeats. */
static void b_claim(b_hold *claim) {
  berth_client *c = claim->client;
  for (b_hold *h = c->slots; h; h = h ? h->next : c->slots) /* again after a wait */
      if (h->is_busy && b_is(h->user, claim->user)) { b_wait(c, 1); h = NULL; }
  claim->is_busy = 1; claim->next = c->slots; c->slots = claim; }
static int b_is_borrowed(const b_hold *h) {
  return h->now.info.is_borrowed || h->borrowed_until[0] || h->is_borrow_unsure; }
/* With the lock: ends and releases a slot that is held; of a borrowed slot only its features. */
static int b_finish(b_hold *h, berth_error *e) {
  berth_client *c = h->client; int kind = BERTH_OK; h->is_busy = 1; h->is_held = 0;
  for (b_hold *f = c->slots; f && b_is_borrowed(h); f = f ? f->next : c->slots) {
    if (f->slot != h || !f->is_held) continue;
    if (f->is_busy) b_wait(c, 1); else b_finish(f, NULL);
    f = NULL; } /* the list may have changed: begin again */
  b_end(h);
  if (!b_is_borrowed(h)) { b_unlock(c); kind = b_unregister(h, 5, 5, e); b_lock(c); }
  else if (h->is_borrow_unsure) kind = b_fail(e, BERTH_UNAVAILABLE, "unreachable",
      "the slot of %s may be borrowed: repeat the borrow with its key", h->user);
  h->is_busy = 0; b_wake(c); return kind; }
static int b_take(const b_hold *wanted, const berth_acquire_options *o, berth_slot **out,
    berth_error *e) {
  berth_client *c = wanted->client; b_hold *h; int kind = BERTH_OK; b_lock(c);
  berth_slot *handle = malloc(sizeof *handle);
  for (;; b_wait(c, 1)) {
    for (h = c->slots; h; h = h->next) {
      if (!b_is(h->user, wanted->user)) continue;
      if (h->claim) break; /* by another thread: wait, lest it ends the new slot */
      if ((h->is_held || h->is_busy) && h->slot == wanted->slot
          && b_is(h->feature, wanted->feature) && h->license_id == wanted->license_id) break; }
    if (!h || (h->is_held && (b_now() < h->ends_at || b_is_thread(c)))) break;
    if (!c->is_closing) continue;
    /* The thread may have ended, and h would not change any more. */
    kind = b_invalid(e, "client_closed", "the client was closed"); h = NULL; break; }
  if (!kind && wanted->slot && !wanted->slot->is_held) {
    kind = b_invalid(e, "invalid_argument", "the slot is not held any more");
  } else if (!kind && !handle) {
    kind = b_fail(e, BERTH_OUT_OF_MEMORY, "out_of_memory", "out of memory");
  } else if (!kind && !h) {
    h = b_start(c) ? malloc(sizeof *h) : NULL;
    if (!h) kind = b_fail(e, BERTH_OUT_OF_MEMORY, "out_of_memory", "out of memory");
    else {
      *h = *wanted; h->next = c->slots; h->is_busy = 1; c->slots = h; b_unlock(c);
      kind = b_wait_for_slot(h, o, e); b_lock(c); h->is_busy = 0;
      h->is_held = !kind && (h->slot || !h->feature[0]); }
  }
  if (!kind) {
    *handle = (berth_slot){
        .hold = h, .next = h->handles, .on_loss = o->on_loss, .data = o->loss_data};
    h->handles = *out = handle;
  } else free(handle);
  if (h) b_drop(h);
  b_unlock(c); return b_leave(c, kind); }
int berth_acquire(berth_client *c, const char *user, const berth_acquire_options *o,
    berth_slot **slot, berth_error *e) {
  o = o ? o : &(berth_acquire_options){0};
  b_hold wanted = {.client = c, .license_id = o->license_id};
  int is_valid = b_copy(B_AT(wanted.user), user) && wanted.user[0] && o->license_id >= 0
      && b_copy(B_AT(wanted.user_info), o->user_info) && o->wait >= 0 && o->wait < 1e9;
  int kind = b_enter(c, is_valid ? NULL : "user is empty or too long, or an option is wrong", e);
  *slot = NULL;
  return kind ? kind : b_take(&wanted, o, slot, e); }
int berth_feature_acquire(berth_slot *slot, const char *code, berth_loss_callback *on_loss,
    void *data, berth_feature **feature, berth_error *e) {
  b_hold *h = slot->hold;
  berth_client *c = h->client;
  b_hold wanted = {.client = c, .slot = h};
  berth_acquire_options options = {.on_loss = on_loss, .loss_data = data};
  berth_slot *handle = NULL;
  int is_valid = b_copy(B_AT(wanted.feature), code) && wanted.feature[0];
  int kind = b_enter(c, is_valid ? NULL : "code is empty or too long", e);
  *feature = NULL;
  if (kind) return kind;
  strcpy(wanted.user, h->user);
  b_lock(c); wanted.license_id = h->now.info.license_id; b_unlock(c);
  kind = b_take(&wanted, &options, &handle, e); *feature = (void *)handle; return kind; }
int berth_slot_release(berth_slot *handle, berth_error *e) {
  b_hold *h = handle->hold;
  berth_client *c = h->client; int kind = b_enter(c, NULL, e); if (kind) return kind; b_lock(c);
  while ((c->reporting == handle && !b_is_thread(c))
      || (b_is_last(handle) && (h->is_busy || b_is_claimed(h, B_BORROW)))) b_wait(c, 1);
  handle->is_released = 1;
  handle->is_loss_due = 0;
  if (b_is_last(handle) && h->is_held) kind = b_finish(h, e);
  if (c->reporting != handle) b_drop_handle(handle);
  b_unlock(c); return b_leave(c, kind ? BERTH_UNAVAILABLE : BERTH_OK); }
int berth_feature_release(berth_feature *h, berth_error *e) {
  return berth_slot_release((berth_slot *)h, e); }
int berth_slot_info(const berth_slot *slot, berth_slot_information *info) {
  b_hold *h = slot->hold;
  *info = (berth_slot_information){0};
  if (h->client->pid != getpid()) return BERTH_INVALID_ARGUMENT;
  b_lock(h->client); *info = h->now.info; info->is_borrowed |= h->borrowed_until[0] != '\0';
  if (strncmp(h->borrowed_until, info->expires_at, 19) > 0) /* in whole seconds */
      strcpy(info->expires_at, h->borrowed_until);
  info->is_held = b_is_kept(h);
  b_unlock(h->client); return BERTH_OK; }
int berth_slot_is_held(const berth_slot *slot) {
  berth_slot_information info; return !berth_slot_info(slot, &info) && info.is_held; }
int berth_feature_is_held(const berth_feature *h) { return berth_slot_is_held((const void *)h); }
char *berth_slot_license(const berth_slot *slot) {
  const b_hold *h = slot->hold;
  if (h->client->pid != getpid()) return NULL;
  b_lock(h->client); char *license = strdup(h->now.license); b_unlock(h->client); return license; }
/* --- Calls about users --- */
static const char *b_choose_key(const char *wanted, char key[65]) {
  unsigned char random[16]; size_t size = 0;
  if (!wanted && !getentropy(random, sizeof random)) { b_hex(random, 16, key); return NULL; }
  while (wanted && wanted[size] > 0x20 && wanted[size] < 0x7F) size++;
  if (size > 0 && !wanted[size] && b_copy(key, 65, wanted)) return NULL;
  return "key must have 1 to 64 visible ASCII characters"; }
static int b_call_with_key(b_request *r, const char *key, berth_error *e) {
  int kind = b_call(r, e);
  if (!e || (kind != BERTH_UNAVAILABLE && kind != BERTH_TLS_FAILED)) return kind;
  char end[140] = "; nothing was sent, so nothing was counted", text[sizeof e->message];
  if (r->was_sent) snprintf(end, sizeof end,
      "; the call may have been counted: repeat it with the key %s", key);
  strcpy(e->key, key);
  strcpy(text, e->message);
  b_clean(e->message, sizeof e->message - strlen(end), text);
  strcat(e->message, end);
  return kind; }
int berth_borrow(berth_client *c, const char *user, const berth_borrow_options *o,
    berth_borrowed *borrow, berth_error *e) {
  o = o ? o : &(berth_borrow_options){0}; char id[24], key[65], path[840];
  b_hold claim = {.client = c, .claim = B_BORROW};
  const char *problem = b_choose_key(o->key, key);
  if (!o->until || !*o->until) problem = "until: give the end of the borrow";
  if (!b_copy(B_AT(claim.user), user) || !*claim.user) problem = "user is empty or too long";
  if (c && !c->nonce[0]) problem = "define BERTH_WITH_OPENSSL or give the option nonce";
  *borrow = (berth_borrowed){.lease = NULL};
  int kind = b_enter(c, problem, e); if (kind) return kind;
  b_request r = {.client = c, .path = "/api/v4/borrow", .retry_for = c->retry_for,
      .nonce = c->nonce, .key = key, .fields = B_FIELDS({'t', "user", B_AT(borrow->user)},
      {'n', "license_id", B_AT(borrow->license_id)},
      {'t', "borrowed_until", B_AT(borrow->borrowed_until)}, {'S', "lease", B_AT(borrow->lease)})};
  snprintf(id, sizeof id, "%.0lld", o->license_id);
  r.body = b_object("product", c->product, "user", user, "os_hostname", c->host, "license_id", id,
      "borrowed_until", o->until, NULL);
  b_lock(c); b_claim(&claim); b_unlock(c); /* else a release meanwhile could return the borrow */
  kind = b_call_with_key(&r, key, e); b_lock(c); b_unlink(&claim);
  for (b_hold *h = c->slots; h; h = h->next) {
    if (h->feature[0] || !b_is(h->user, user)) continue;
    if (!kind && borrow->lease) strcpy(h->borrowed_until, borrow->borrowed_until);
    if (!kind || kind == BERTH_UNAVAILABLE) h->is_borrow_unsure = kind != BERTH_OK; }
  b_unlock(c);
  if (!kind) {
    char *product = curl_easy_escape(NULL, c->product, 0);
    snprintf(path, sizeof path, "/api/v4/license?license_id=%lld&product=%s", borrow->license_id,
        product ? product : "");
    curl_free(product);
    r = (b_request){.client = c, .path = path, .retry_for = c->retry_for,
        .accept = "application/jwt", .text = &borrow->license, .was_sent = 1}; /* the borrow */
    kind = b_call_with_key(&r, key, e); }
  if (kind) berth_borrow_free(borrow);
  return b_leave(c, kind); }
void berth_borrow_free(berth_borrowed *borrow) {
  free(borrow->lease); free(borrow->license); *borrow = (berth_borrowed){.lease = NULL}; }
int berth_release(berth_client *c, const char *user, berth_error *e) {
  b_hold named = {.client = c, .claim = B_RETURN};
  int is_valid = b_copy(B_AT(named.user), user) && named.user[0];
  int kind = b_enter(c, is_valid ? NULL : "user is empty or too long", e); if (kind) return kind;
  b_lock(c); b_claim(&named); b_unlock(c);
  kind = b_unregister(&named, c->timeout, c->retry_for, e); b_lock(c); b_unlink(&named);
  for (b_hold *h = c->slots; h; h = h->next) if (!kind && b_is(h->user, user)) b_end(h);
  b_unlock(c); return b_leave(c, kind); }
int berth_consume(berth_client *c, long long n, const berth_consume_options *o,
    berth_consumption *out, berth_error *e) {
  o = o ? o : &(berth_consume_options){0}; char count[24], id[24], overages[24] = "";
  const char *allowed = o->allow_overages > 0 ? "true" : o->allow_overages < 0 ? "false" : "";
  berth_consumption unused; if (!out) out = &unused; *out = (berth_consumption){.maximum = -1};
  int kind = b_enter(c, b_choose_key(o->key, out->key), e); if (kind) return kind;
  snprintf(count, sizeof count, "%lld", n); snprintf(id, sizeof id, "%.0lld", o->license_id);
  if (o->max_overages) snprintf(overages, sizeof overages, "%lld", *o->max_overages);
  b_request r = {.client = c, .retry_for = c->retry_for, .key = out->key,
      .fields = B_FIELDS({'i', "total_consumptions", B_AT(out->total)},
      {'n', "license_id", B_AT(out->license_id)}, {'I', "max_consumptions", B_AT(out->maximum)})};
  r.path = o->feature ? "/api/v4/add_feature_consumption" : "/api/v4/add_consumption";
  r.body = b_object("product", c->product, "consumptions", count, "feature", o->feature, "user",
      o->user, "license_id", id, "max_overages", overages, "allow_overages", allowed, NULL);
  kind = b_call_with_key(&r, out->key, e);
  if (kind) { /* a damaged reply may have been read in part */
    out->total = out->license_id = 0;
    out->maximum = -1;
  }
  return b_leave(c, kind); }
/* --- The lease check --- */
/* Decodes symbols of so many bits. Returns the number of bytes; -1: malformed or too many. */
static long b_decode(const char *text, size_t size, int width, void *out, long room) {
  static const char *const alphabets[] = {"0123456789abcdef", "0123456789ABCDEFGHJKMNPQRSTVWXYZ",
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"};
  const char *alphabet = alphabets[width - 4], *symbol; unsigned bits = 0; long have = 0, count = 0;
  for (; size > 0; size--, text++) {
    symbol = *text ? strchr(alphabet, *text) : NULL; if (!symbol) return -1;
    bits = (bits << width | (unsigned)(symbol - alphabet)) & 0xFFFF; have += width;
    if (have < 8) continue; else if (count == room) return -1;
    have -= 8; ((unsigned char *)out)[count++] = (unsigned char)(bits >> have); }
  return have < width && !(bits & ((1u << have) - 1)) ? count : -1; }
/* Public keys of small order, with the highest bit clear: one signature fits every text. */
static const char *const b_small_order_keys[] = {
  "0000000000000000000000000000000000000000000000000000000000000000",
  "0100000000000000000000000000000000000000000000000000000000000000",
  "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
  "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
  "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"};
static int b_decode_key(const char *x, unsigned char key[32]) {
  unsigned char y[32]; char hex[65]; if (b_decode(x, strlen(x), 6, key, 32) != 32) return 0;
  memcpy(y, key, 32); y[31] &= 127; b_hex(y, 32, hex);
  for (size_t i = 0; i < B_COUNT(b_small_order_keys); i++)
    if (b_is(hex, b_small_order_keys[i])) return 0;
  return 1;
}
#ifdef BERTH_WITH_OPENSSL
static int b_decode_all(const char *text, int width, void *out, long size) {
  return b_decode(text, strlen(text), width, out, size) == size; }
static void b_sha256(const void *data, size_t size, unsigned char out[32], char hex[65]) {
  EVP_Digest(data, size, out, NULL, EVP_sha256(), NULL); b_hex(out, 32, hex); }
typedef struct {
  char *owned, *header, *payload; /* the first two are to be freed; JSON */
  const void *text; size_t size; unsigned char signature[64]; /* the text that is signed */
} b_document;
typedef struct { /* a license or policy, with the certificate of the issuing key that signed it */
  b_document document, certificate;
  char cert[B_MAX_CERTIFICATE + 1], kid[17], certificate_kid[17], vendor[17];
  unsigned char key[32]; /* the issuing key */
} b_certified;
typedef struct { /* what the vendor granted */
  char appliance[17], lic[65], product[257]; unsigned char key[32]; int is_enabled;
  long long license_id, serial, start, until, grace_hours, timeout_minutes, borrow_hours;
} b_grant;
static int b_is_signed(const unsigned char key[32], const b_document *d) {
  EVP_PKEY *public_key = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, key, 32);
  EVP_MD_CTX *md = EVP_MD_CTX_new();
  int is_signed = public_key && md && EVP_DigestVerifyInit(md, NULL, NULL, NULL, public_key) == 1
      && EVP_DigestVerify(md, d->signature, 64, d->text, d->size) == 1;
  EVP_MD_CTX_free(md); EVP_PKEY_free(public_key); return is_signed; }
static int b_open(b_document *d, const char *text, const char *type) {
  const char *dot = strchr(text, '.'), *last = dot ? strchr(dot + 1, '.') : NULL;
  char algorithm[8], found[32]; d->text = text; d->size = last ? (size_t)(last - text) : 0;
  d->header = last && strlen(text) <= B_MAX_DOCUMENT ? calloc(2, d->size) : NULL;
  if (!d->header) return 0;
  d->payload = d->header + d->size; long room = (long)d->size - 1;
  long header = b_decode(text, (size_t)(dot - text), 6, d->header, room);
  long payload = b_decode(dot + 1, (size_t)(last - dot - 1), 6, d->payload, room);
  return header >= 0 && b_is_object(d->header, (size_t)header, 1) && payload >= 0
      && b_is_object(d->payload, (size_t)payload, 1) && b_decode_all(last + 1, 6, d->signature, 64)
      && !b_find(d->header, "crit") && b_read(d->header, B_FIELDS({'t', "alg", B_AT(algorithm)},
      {'t', "typ", B_AT(found)})) && b_is(algorithm, "EdDSA") && b_is(found, type); }
static int b_read_key(const char *jwk, unsigned char key[32]) {
  char type[8], curve[16], x[44];
  return b_read(jwk, B_FIELDS({'t', "kty", B_AT(type)}, {'t', "crv", B_AT(curve)},
      {'t', "x", B_AT(x)})) && b_is(type, "OKP") && b_is(curve, "Ed25519") && b_decode_key(x, key);
}
/* The first 80 bits of the hash of a key, which name its owner. */
static void b_key_id(const unsigned char key[32], char id[17]) {
  unsigned char hash[32];
  char hex[65];
  b_sha256(key, 32, hash, hex);
  for (int i = 0; i < 16; i++) {
    unsigned bits = (unsigned)hash[5 * i / 8] << 8 | hash[5 * i / 8 + 1];
    id[i] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"[bits >> (11 - 5 * i % 8) & 31];
  }
  id[16] = '\0';
}
static int b_count_members(const char *object) { /* of a checked object; -1: it is none */
  const char *p = b_space(object);
  int count = 0;
  if (*p != '{') return -1;
  for (p = b_space(p + 1); *p && *p != '}'; count++) {
    p = b_space(b_skip_string(p));
    if (*p != ':') return -1;
    p = b_space(b_skip(b_space(p + 1), 64, NULL, NULL, 0, NULL));
    if (*p == ',') p = b_space(p + 1);
  }
  return count;
}
/* Reads a license or policy and its certificate; no signature is checked. Its header has these
 * members alone, in this order, without white space: nobody can read it differently. */
static int b_open_certified(b_certified *l, const char *text, const char *type) {
  char expected[B_MAX_CERTIFICATE + 256];
  long long issued, until, trust;
  if (!b_open(&l->document, text, type) || !b_read(l->document.header,
      B_FIELDS({'t', "kid", B_AT(l->kid)}, {'t', "cert", B_AT(l->cert)}))) return 0;
  snprintf(expected, sizeof expected,
      "{\"alg\":\"EdDSA\",\"typ\":\"%s\",\"kid\":\"%s\",\"cert\":\"%s\"}", type, l->kid, l->cert);
  if (!b_is(l->document.header, expected) || !b_open(&l->certificate, l->cert, "berth-key+jwt")
      || !b_read(l->certificate.header, B_FIELDS({'t', "kid", B_AT(l->certificate_kid)}))) return 0;
  const char *content = l->certificate.payload, *jwk = b_find(content, "cnf.jwk");
  if (b_count_members(l->certificate.header) != 3 || b_count_members(content) != 5
      || b_count_members(b_find(content, "cnf")) != 1 || !jwk
      || !b_read_key(jwk, l->key) || !b_read(content, B_FIELDS({'t', "iss", B_AT(l->vendor)},
      {'n', "iat", B_AT(issued)}, {'n', "until", B_AT(until)}, {'n', "trust", B_AT(trust)})))
    return 0;
  /* Installed licenses outlive their key: `until` is not compared with the time. */
  return issued < until && until <= B_YEAR_9999 && trust >= 1 && trust <= 1000000;
}
/* Finds the root of the vendor: it signed the certificate, and the issuing key the document. */
static const char *b_check_issuer(const berth_client *c, const b_certified *l,
    const unsigned char **root) {
  char id[17], vendor[17];
  *root = NULL;
  for (int i = 0; i < c->root_count; i++) {
    b_key_id(c->roots[i], id);
    if (!*root && b_is(id, l->vendor)) *root = c->roots[i];
    /* A root signs certificates alone. */
    if (!memcmp(c->roots[i], l->key, 32)) return "license_forged";
  }
  b_key_id(l->key, id);
  if (!*root || !b_is(l->certificate_kid, l->vendor) || !b_is(l->kid, id)
      || !b_read(l->document.payload, B_FIELDS({'t', "iss", B_AT(vendor)}))
      || !b_is(vendor, l->vendor) || !b_is_signed(*root, &l->certificate)
      || !b_is_signed(l->key, &l->document)) return "license_forged";
  for (int i = 0; i < c->retired_count; i++)
    if (!memcmp(c->retired[i], l->key, 32)) return "retired_key";
  return NULL;
}
static int b_read_time(const char *text, long long *out) {
  struct tm t = {0}; int end = 0, count = sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2d%n", &t.tm_year,
      &t.tm_mon, &t.tm_mday, &t.tm_hour, &t.tm_min, &t.tm_sec, &end);
  t.tm_year -= 1900; t.tm_mon--; struct tm given = t; *out = timegm(&t); /* corrects wrong fields */
  return count == 6 && end == 19 && text[strlen(text) - 1] == 'Z' && t.tm_mon == given.tm_mon
      && t.tm_mday == given.tm_mday && t.tm_hour == given.tm_hour && t.tm_sec == given.tm_sec; }
/* Reads the terms of a license or policy, and the appliance's key at a path of `keys`. */
static int b_read_grant(const char *terms, const char *keys, const char *path, b_grant *g) {
  const char *key = b_find(keys, path);
  char start[32] = "1970-01-01T00:00:00Z", until[32] = "9999-12-31T23:59:59Z";
  int is_good = key && b_read(terms, B_FIELDS({'t', "terms.product", B_AT(g->product)},
      {'b', "terms.enabled", B_AT(g->is_enabled)}, {'T', "terms.start", B_AT(start)},
      {'T', "terms.valid_until", B_AT(until)}, {'H', "terms.grace_hours", B_AT(g->grace_hours)},
      {'h', "terms.timeout_minutes", B_AT(g->timeout_minutes)},
      {'H', "terms.borrow_hours", B_AT(g->borrow_hours)})) && b_read_key(key, g->key);
  return is_good && b_read_time(start, &g->start) && b_read_time(until, &g->until); }
static const char *b_check_license(berth_client *c, const char *text, b_certified *l, b_grant *g) {
  unsigned char hash[32]; const unsigned char *root; const b_document *d = &l->document;
  if (!b_open_certified(l, text, "berth-license+jwt")
      || !b_read_grant(d->payload, d->payload, "cnf.jwk", g) || !b_read(d->payload,
      B_FIELDS({'t', "appliance", B_AT(g->appliance)}, {'n', "license_id", B_AT(g->license_id)},
      {'n', "serial", B_AT(g->serial)}))) return "license_malformed";
  b_sha256(text, strlen(text), hash, g->lic); return b_check_issuer(c, l, &root); }
/* Turns a code into canonical symbols, without the check symbols of rows; returns their number. */
static size_t b_canonical(const char *code, void *symbols, size_t room, int has_rows) {
  size_t size = 0, read = 0; char *out = symbols;
  for (; *code; code++) {
    char symbol = *code >= 'a' && *code <= 'z' ? (char)(*code - 'a' + 'A') : *code;
    if (!(symbol >= '0' && symbol <= '9') && !(symbol >= 'A' && symbol <= 'Z')) continue;
    int is_check = has_rows && (++read % 20 == 0 || read == 115); if (size == room) return 0;
    if (!is_check) out[size++] = strchr("IL", symbol) ? '1' : symbol == 'O' ? '0' : symbol; }
  return has_rows && read != 115 ? 0 : size; }
/* Checks a bundle, the proof of a license by code. The vendor has signed its parts with lengths. */
static const char *b_check_bundle(berth_client *c, const char *text, b_certified *l,
    b_buffer *b, b_grant *g) {
  b_document *d = &l->document; const unsigned char *root = NULL;
  char confirmation[512], key[4096], initialization[256], prefix_hex[11], nonce_hex[11];
  char symbols[115], initial[32], hex[65]; long long version, kind;
  unsigned char appliance[10], prefix[5], nonce[5], code[68], policy[32], hash[32], kind_byte;
  if (strlen(text) > B_MAX_BUNDLE) return "license_malformed";
  if (!b_is_object(text, strlen(text), 1) || !b_read(text, B_FIELDS({'i', "version", B_AT(version)},
      {'i', "kind", B_AT(kind)}, {'s', "policy", B_AT(d->owned)}, {'t', "nonce", B_AT(nonce_hex)},
      {'t', "confirmation_code", B_AT(confirmation)}, {'t', "hardware_prefix", B_AT(prefix_hex)},
      {'t', "license_key", B_AT(key)}, {'t', "initialization_code", B_AT(initialization)},
      {'t', "appliance_id", B_AT(g->appliance)})) || version != 2 || kind < 1 || kind > 2
      || !b_decode_all(g->appliance, 5, appliance, 10) || !b_decode_all(prefix_hex, 4, prefix, 5)
      || !b_decode_all(nonce_hex, 4, nonce, 5) || b_canonical(confirmation, B_AT(symbols), 1) != 109
      || b_decode(symbols, 109, 5, code, 68) != 68
      || !b_open_certified(l, d->owned, "berth-policy+jwt")
      || !b_read_grant(d->payload, text, "appliance_jwk", g)) return "license_malformed";
  b_sha256(d->owned, strlen(d->owned), policy, hex); kind_byte = (unsigned char)kind;
  const struct { const void *data; size_t size; } parts[] = {
    {"berth-confirm-v2", 16}, {&kind_byte, 1}, {appliance, 10}, {prefix, 5}, {nonce, 5},
    {key, strlen(key)}, {policy, 32},
    {initial, b_canonical(initialization, B_AT(initial), 0)}, {code + 64, 4}};
  for (size_t i = 0; i < B_COUNT(parts); i++) {
    const unsigned char length[4] = {0, 0, parts[i].size >> 8 & 255, parts[i].size & 255};
    b_append(b, length, 4); b_append(b, parts[i].data, parts[i].size); }
  b_sha256(g->key, 32, hash, hex); b_document proof = {.text = b->data, .size = b->size};
  memcpy(proof.signature, code, 64);
  if (b->has_failed || memcmp(hash, appliance, 10) || !b_is_signed(l->key, &proof))
    return "license_forged";
  const char *problem = b_check_issuer(c, l, &root); if (problem) return problem;
  b_sha256(code, 68, hash, g->lic); g->serial = code[66] << 8 | code[67];
  int days = code[64] << 8 | code[65]; /* 0: the end is that of the policy */
  if (days) g->until = 86400LL * days;
  b->size = 0; b_append(b, root, 32); b_append(b, key, strlen(key));
  b_sha256(b->data, b->size, hash, hex); hex[13] = '\0'; g->license_id = strtoll(hex, NULL, 16);
  return NULL; }
static const char *b_check_lease(const berth_client *c, const char *lease, const b_grant *g,
    b_document *d, berth_lease *out) {
  char iss[32], kid[32], lic[80], nonce[132] = "";
  long long iat, exp, nbf = 0, now = (long long)time(NULL), grace = 3600 * g->grace_hours;
  long long longest = 60 * g->timeout_minutes, borrow = 3600 * g->borrow_hours;
  if (!b_open(d, lease, "berth-lease+jwt") || !b_read(d->header, B_FIELDS({'t', "kid", B_AT(kid)}))
      || !b_read(d->payload, B_FIELDS({'t', "iss", B_AT(iss)}, {'t', "sub", B_AT(out->user)},
      {'t', "aud", B_AT(out->product)}, {'n', "license_id", B_AT(out->license_id)},
      {'n', "serial", B_AT(out->serial)}, {'t', "lic", B_AT(lic)}, {'n', "iat", B_AT(iat)},
      {'n', "exp", B_AT(exp)}, {'T', "nonce", B_AT(nonce)}))) return "lease_malformed";
  if (b_find(d->payload, "nbf") && !b_read(d->payload, B_FIELDS({'n', "nbf", B_AT(nbf)})))
    return "lease_malformed";
  if (iat > B_YEAR_9999 || exp > B_YEAR_9999 || nbf > B_YEAR_9999) return "lease_malformed";
  time_t end = (time_t)exp; struct tm parts;
  strftime(out->expires_at, sizeof out->expires_at, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&end, &parts));
  /* The clocks may differ by 60 seconds. */
  const struct { int is_broken; const char *code; } rules[] = {
    {!b_is_signed(g->key, d) || !b_is(iss, g->appliance) || !b_is(kid, g->appliance),
      "lease_forged"},
    {!b_is(g->product, c->product) || !b_is(out->product, c->product), "other_product"},
    {!g->is_enabled, "license_disabled"}, {g->start > now + 60, "license_not_started"},
    {now - 60 - grace >= g->until, "license_ended"}, {now >= exp + 60, "lease_expired"},
    {exp - grace > g->until, "lease_outlasts_license"},
    {exp - iat > (longest < borrow ? borrow : longest) + 60, "lease_too_long"},
    {iat > now + 60 || nbf > now + 60, "lease_not_started"},
    {out->license_id != g->license_id || out->serial != g->serial, "other_license"},
    {!b_is(lic, g->lic), "other_license"}, {!b_is(nonce, c->nonce), "other_device"}};
  for (size_t i = 0; i < B_COUNT(rules); i++) if (rules[i].is_broken) return rules[i].code;
  return NULL; }
static const char *b_check(berth_client *c, const char *lease, const char *license,
    berth_lease *out) {
  b_grant granted = {0}; b_certified licensed = {0}; b_document leased = {0}; b_buffer proof = {0};
  const char *code = *license == '{' ? b_check_bundle(c, license, &licensed, &proof, &granted)
      : b_check_license(c, license, &licensed, &granted);
  if (!code) code = b_check_lease(c, lease, &granted, &leased, out);
  free(proof.data); free(licensed.document.owned); free(licensed.document.header);
  free(licensed.certificate.header); free(leased.header); return code; }
static void b_choose_nonce(berth_client *c) {
  static const char *const files[] = {"/etc/machine-id", "/var/lib/dbus/machine-id"};
  char text[160] = "berth-device-v1:"; unsigned char hash[32];
  for (int i = 0; i < 2 && !c->nonce[0]; i++) {
    FILE *file = fopen(files[i], "r");
    if (file && fscanf(file, "%127s", text + 16) == 1) b_sha256(text, strlen(text), hash, c->nonce);
    if (file) fclose(file); }
}
#define B_REFUSED "the lease is refused: %s"
#define B_HAS_CHECK 1
#else
#define B_HAS_CHECK 0
#define B_REFUSED "%s: define BERTH_WITH_OPENSSL to check leases"
#define b_check(client, lease, license, out) "verify_unavailable"
#define b_choose_nonce(client) (void)(client)
#endif
int berth_verify(berth_client *c, const char *lease, const char *license, berth_lease *out,
    berth_error *e) {
  const char *problem = NULL;
  if (!lease || !license || !c || !c->root_count)
    problem = "lease, license and root_keys are needed";
  else if (B_HAS_CHECK && !c->nonce[0]) /* else a lease for any device would fit */
    problem = "this machine has no machine id: give the option nonce";
  int kind = b_enter(c, problem, e);
  *out = (berth_lease){.serial = 0}; if (kind) return kind;
  const char *code = b_check(c, lease, license, out);
  if (code) *out = (berth_lease){.serial = 0};
  if (code) kind = b_fail(e, BERTH_LEASE_REFUSED, code, B_REFUSED, code);
  return b_leave(c, kind); }
/* --- The client --- */
/* Waits for calls and the thread, at most half of the time, then releases. 0: without a limit. */
static void b_close(berth_client *c, double seconds) {
  int is_answering = 1; /* else further releases would only take time */
  b_lock(c); c->is_closing = 1; b_wake(c);
  if (seconds > 0) c->give_up_at = b_now() + seconds;
  while ((c->calls > 0 || (c->has_thread && !c->has_thread_ended && !b_is_thread(c)))
      && (seconds <= 0 || b_now() < c->give_up_at - seconds / 2)) b_wait(c, 1);
  if (c->has_thread_ended) c->has_thread = pthread_join(c->thread, NULL) != 0;
  for (b_hold *h = c->slots; h; h = h->next) {
    if (h->feature[0] || !h->is_held || h->is_busy) continue;
    if (is_answering) {
      int kind = b_finish(h, NULL);
      is_answering = (kind != BERTH_UNAVAILABLE && kind != BERTH_TLS_FAILED) || b_is_borrowed(h);
    } else b_end(h); }
  b_unlock(c); }
static void b_at_exit(void) {
  double end = b_now() + 3; pthread_mutex_lock(&b_clients_lock);
  for (berth_client *c = b_clients; c; c = c->next)
      b_close(c, b_now() < end - 0.1 ? end - b_now() : 0.1);
  pthread_mutex_unlock(&b_clients_lock); }
/* The child of fork has no clients, and the lock may be held by a thread that it does not have. */
static void b_after_fork(void) { b_clients = NULL; pthread_mutex_init(&b_clients_lock, NULL); }
static void b_initialize(void) { /* what libcurl registers for the exit runs after b_at_exit */
  curl_global_init(CURL_GLOBAL_DEFAULT); pthread_atfork(NULL, NULL, b_after_fork);
  atexit(b_at_exit); }
void berth_client_free(berth_client *c) {
  berth_client **at = &b_clients; if (!c || c->pid != getpid()) return;
  pthread_mutex_lock(&b_clients_lock);
  while (*at && *at != c) at = &(*at)->next;
  if (*at) *at = c->next;
  pthread_mutex_unlock(&b_clients_lock); b_close(c, 0);
  for (b_hold *h; (h = c->slots); free(h)) {
    for (berth_slot *handle; (handle = h->handles); free(handle)) h->handles = handle->next;
    c->slots = h->next;
    free(h->now.license);
  }
  pthread_cond_destroy(&c->changed); pthread_mutex_destroy(&c->lock); free(c); }
/* Takes the next text of a list with commas, without spaces around it. 0: there is none. */
static int b_next_text(const char **list, char out[600]) {
  if (!*list) return 0;
  const char *start = b_space(*list);
  size_t size = strcspn(start, ",");
  *list = start[size] ? start + size + 1 : NULL;
  while (size > 0 && strchr(" \t\r\n", start[size - 1])) size--;
  snprintf(out, 600, "%.*s", (int)size, start);
  return 1;
}
static int b_has_good_port(const char *host) {
  size_t size = strcspn(host, "/");
  const char *bracket = memchr(host, ']', size), *start = bracket ? bracket : host;
  const char *colon = memchr(start, ':', size - (size_t)(start - host));
  if (!colon) return 1;
  size_t digits = strspn(colon + 1, "0123456789");
  long port = strtol(colon + 1, NULL, 10);
  return colon + 1 + digits == host + size && digits > 0 && port > 0 && port < 65536;
}
static int b_add_url(berth_client *c, char *url) {
  size_t host = !strncmp(url, "http://", 7) ? 7 : !strncmp(url, "https://", 8) ? 8 : 0;
  for (size_t size = strlen(url); size > host && url[size - 1] == '/';) url[--size] = '\0';
  if (!host || strstr(url, "/api/v4") || strpbrk(url, "@?# \t\r\n\"\\") || strchr("/:", url[host])
      || !b_has_good_port(url + host)) return 0;
  for (int i = 0; i < c->server_count; i++) if (b_is(c->servers[i].url, url)) return 1;
  return c->server_count < 8 && b_copy(B_AT(c->servers[c->server_count++].url), url); }
/* Whether what is sent to a server leaves this machine without encryption. */
static int b_is_unencrypted(const char *url) {
  const char *host = url + 7, *local = "localhost";
  size_t size = 0;
  int end = 0;
  if (strncmp(url, "http://", 7)) return 0;
  while (local[size] && (host[size] | 0x20) == local[size]) size++;
  if (local[size]) size = 0;
  if (!strncmp(host, "[::1]", 5)) size = 5;
  sscanf(host, "127.%*3[0-9].%*3[0-9].%*3[0-9]%n", &end);
  if (end) size = (size_t)end;
  return size == 0 || !strchr(":/", host[size]); /* strchr also finds the end */
}
/* Reads a list of keys. Returns their number; -1: malformed, or too many. */
static int b_read_keys(const char *list, unsigned char keys[][32], int room) {
  char text[600];
  int count = 0;
  for (list = list && *list ? list : NULL; b_next_text(&list, text); count++)
    if (count == room || !b_decode_key(text, keys[count])) return -1;
  return count;
}
static const char *b_configure(berth_client *c, const berth_options *o) {
  static const char legal[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._~-";
  char text[600];
  for (const char *list = o->urls; b_next_text(&list, text);)
      if (!b_add_url(c, text))
          return "up to 8 urls: http(s)://HOST:PORT; give the address without /api/v4";
  c->root_count = b_read_keys(o->root_keys, c->roots, 8);
  c->retired_count = b_read_keys(o->retired, c->retired, 64);
  if (c->root_count < 0) return "each of up to 8 root_keys must be a text `x` of 43 characters";
  if (c->retired_count < 0) return "each of up to 64 retired must be a text `x` of 43 characters";
  c->timeout = o->timeout == 0 ? 15 : o->timeout;
  c->retry_for = o->retry_for != 0 ? o->retry_for : c->server_count > 1 ? 30 : 10;
  const char *password = o->login_password ? o->login_password : "", *nonce = o->nonce;
  if (!c->server_count || !b_copy(B_AT(c->product), o->product) || !c->product[0])
      return "urls must have a URL, and product 1 to 256 bytes";
  if (!(c->timeout > 0 && c->timeout < 1e6 && c->retry_for < 1e9))
      return "timeout must be positive, and retry_for a number of seconds";
  if (o->login_name && (strchr(o->login_name, ':') || snprintf(c->login, sizeof c->login, "%s:%s",
      o->login_name, password) >= (int)sizeof c->login))
      return "login_name must not have a colon, nor be too long with login_password";
  if (!b_copy(B_AT(c->nonce), nonce) || (nonce && (strlen(nonce) < 16
      || nonce[strspn(nonce, legal)])))
      return "nonce must have 16 to 128 characters of A-Z a-z 0-9 . _ ~ -";
  if (o->ca && (access(o->ca, R_OK) || !b_copy(B_AT(c->ca), o->ca))) return o->ca;
  if (o->certificate && (access(o->certificate, R_OK) || !b_copy(B_AT(c->certificate),
      o->certificate))) return o->certificate;
  return NULL; }
const char *berth_nonce(const berth_client *c) { return c->nonce; }
int berth_client_new(const berth_options *o, berth_client **client, berth_error *e) {
  pthread_condattr_t attributes; berth_client *c = *client = calloc(1, sizeof *c);
  if (!c) return b_fail(e, BERTH_OUT_OF_MEMORY, "out_of_memory", "out of memory");
  const char *problem = b_configure(c, o);
  if (problem) {
    int is_file = problem == o->ca || problem == o->certificate; free(c); *client = NULL;
    return b_fail(e, BERTH_INVALID_ARGUMENT, "invalid_argument",
        is_file ? "the file %s cannot be read" : "%s", problem); }
  for (int i = 0; i < c->server_count && c->login[0] && !o->allow_plain_password; i++) {
    if (!b_is_unencrypted(c->servers[i].url)) continue;
    b_fail(e, BERTH_INVALID_ARGUMENT, "invalid_argument",
        "login: the password would be sent without encryption to %s; "
        "use its https:// address, or the option allow_plain_password",
        c->servers[i].url);
    free(c);
    *client = NULL;
    return BERTH_INVALID_ARGUMENT;
  }
  if (!c->nonce[0]) b_choose_nonce(c);
  gethostname(c->host, sizeof c->host - 1); c->pid = getpid();
  pthread_mutex_init(&c->lock, NULL); pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&c->changed, &attributes); pthread_condattr_destroy(&attributes);
  pthread_once(&b_once, b_initialize); pthread_mutex_lock(&b_clients_lock);
  c->next = b_clients; b_clients = c; pthread_mutex_unlock(&b_clients_lock);
  return b_fail(e, BERTH_OK, "", "%s", ""); }
#endif
