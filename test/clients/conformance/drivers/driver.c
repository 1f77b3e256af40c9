/* Drives berth.h for the conformance suite: reads requests as JSON lines from the standard input,
 * runs each one in its own thread, and writes replies and events as JSON lines. */
#define _POSIX_C_SOURCE 200809L
#ifndef BERTH_WITH_OPENSSL
#define BERTH_WITH_OPENSSL
#endif
#define BERTH_IMPLEMENTATION
#include "berth.h"
#include <errno.h>
#include <locale.h>
#include <sys/wait.h>

/* A client, slot or feature by its name. In C its handle must not be used after it was freed, so
 * the driver knows what is gone, and answers as the other clients do. */
struct item {
  struct item *next;
  char name[64], user[257];
  berth_client *client;
  berth_slot *slot;
  berth_feature *feature;
  struct item *owner; /* of a slot or feature: the client */
  int is_closed;
};

struct request {
  long long id;
  char *json;
};

static struct item *items;
static pthread_mutex_t items_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t output_lock = PTHREAD_MUTEX_INITIALIZER;

static const char *const kinds[] = {"Ok", "NoFreeSlot", "AccessDenied", "Refused", "Unavailable",
                                    "TlsFailed", "OtherAppliance", "LeaseRefused",
                                    "InvalidArgument", "OutOfMemory"};

static void append(b_buffer *b, const char *text) { b_append(b, text, strlen(text)); }

static void append_name(b_buffer *b, const char *name) {
  if (b->size > 0 && b->data[b->size - 1] != '{') append(b, ",");
  b_append_string(b, name);
  append(b, ":");
}

static void put_text(b_buffer *b, const char *name, const char *text) {
  append_name(b, name);
  if (text && *text) b_append_string(b, text);
  else append(b, "null");
}

static void put_number(b_buffer *b, const char *name, long long number) {
  char digits[24];
  snprintf(digits, sizeof digits, "%lld", number);
  append_name(b, name);
  append(b, digits);
}

static void put_boolean(b_buffer *b, const char *name, int is_true) {
  append_name(b, name);
  append(b, is_true ? "true" : "false");
}

/*
 * Without stdio: exit() flushes a stream without its lock, so that a line which another thread has
 * just written, but not yet taken out of the buffer, would be written twice.
 */
static void write_line(b_buffer *b) {
  size_t done = 0;
  ssize_t size;
  append(b, "}\n");
  pthread_mutex_lock(&output_lock);
  while (done < b->size) {
    size = write(STDOUT_FILENO, b->data + done, b->size - done);
    if (size > 0) done += (size_t)size;
    else if (errno != EINTR) break;
  }
  pthread_mutex_unlock(&output_lock);
  free(b->data);
}

static void reply_error(long long id, const berth_error *e, const char *kind) {
  b_buffer b = {0};
  append(&b, "{");
  put_number(&b, "id", id);
  append_name(&b, "error");
  append(&b, "{");
  put_text(&b, "kind", kind ? kind : kinds[e->kind]);
  put_text(&b, "code", e->code);
  if (e->status) put_number(&b, "status", e->status);
  else put_text(&b, "status", NULL);
  put_text(&b, "message", e->message);
  put_text(&b, "request_id", e->request_id);
  put_text(&b, "key", e->key);
  put_number(&b, "position", e->position);
  append(&b, "}");
  write_line(&b);
}

static void refuse(long long id, const char *code) {
  berth_error e;
  b_fail(&e, BERTH_INVALID_ARGUMENT, code, "%s", code);
  reply_error(id, &e, NULL);
}

/* An error of a call whose results must be empty then: the caller had filled them with others. */
static void reply_failure(long long id, const berth_error *e, int is_empty) {
  if (is_empty) reply_error(id, e, NULL);
  else refuse(id, "result_of_a_failed_call");
}

/* Starts a reply that is successful. */
static b_buffer begin_reply(long long id) {
  b_buffer b = {0};
  append(&b, "{");
  put_number(&b, "id", id);
  append_name(&b, "ok");
  append(&b, "{");
  return b;
}

static void end_reply(b_buffer *b) {
  append(b, "}");
  write_line(b);
}

static void on_loss(void *data, const char *user, const berth_error *e) {
  const struct item *item = (const struct item *)data;
  b_buffer b = {0};
  (void)user;
  append(&b, "{");
  put_text(&b, "event", "loss");
  put_text(&b, item->user[0] ? "slot" : "feature", item->name);
  put_text(&b, "kind", kinds[e->kind]);
  put_text(&b, "code", e->code);
  put_text(&b, "message", e->message);
  write_line(&b);
}

static void on_wait(void *data, int position, int length) {
  b_buffer b = {0};
  append(&b, "{");
  put_text(&b, "event", "wait");
  put_text(&b, "slot", ((const struct item *)data)->name);
  put_number(&b, "position", position);
  put_number(&b, "length", length);
  write_line(&b);
}

/* The text of a field, to be freed; NULL: absent. */
static char *text_of(const char *json, const char *field) {
  const char *value = b_find(json, field);
  return value ? b_text(value) : NULL;
}

/* Copies the text of a field, if there is one. */
static void copy_text(const char *json, const char *field, char *out, size_t room) {
  char *text = text_of(json, field);
  if (text) b_copy(out, room, text);
  free(text);
}

static double real_of(const char *json, const char *field, double fallback) {
  const char *value = b_find(json, field);
  double number;
  return value && b_number(value, &number) ? number : fallback;
}

static long long number_of(const char *json, const char *field, long long fallback) {
  return (long long)real_of(json, field, (double)fallback);
}

/* The texts of a list, separated by commas, or a text as it is; to be freed. */
static char *list_of(const char *json, const char *field) {
  b_buffer b = {0};
  const char *p = b_find(json, field);
  int is_first = 1;
  if (p && *p == '"') return b_text(p);
  append(&b, "");
  for (p = p ? b_space(p + 1) : "]"; *p == '"'; is_first = 0) {
    char *text = b_text(p);
    if (!is_first) append(&b, ",");
    append(&b, text);
    free(text);
    p = b_space(b_skip_string(p));
    if (*p == ',') p = b_space(p + 1);
  }
  return b.data;
}

static struct item *add_item(const char *json, const char *field) {
  struct item *item = (struct item *)calloc(1, sizeof *item);
  copy_text(json, field, item->name, sizeof item->name);
  return item;
}

static void publish_item(struct item *item) {
  pthread_mutex_lock(&items_lock);
  item->next = items;
  items = item;
  pthread_mutex_unlock(&items_lock);
}

/* Finds what a field names. */
static struct item *find_item(const char *json, const char *field) {
  char name[64] = "";
  struct item *item;
  copy_text(json, field, name, sizeof name);
  pthread_mutex_lock(&items_lock);
  for (item = items; item && (strcmp(item->name, name) || (!item->client) != (*field != 'c'));) {
    item = item->next;
  }
  pthread_mutex_unlock(&items_lock);
  return item;
}

/* An item as it is now; its handles are NULL if they were freed with the client. */
static struct item look_at(const struct item *item) {
  struct item copy;
  pthread_mutex_lock(&items_lock);
  copy = *item;
  if (item->owner && item->owner->is_closed) copy.is_closed = 1;
  pthread_mutex_unlock(&items_lock);
  if (copy.is_closed) {
    copy.slot = NULL;
    copy.feature = NULL;
  }
  return copy;
}

static void reply_slot(long long id, struct item *item) {
  berth_slot_information info;
  berth_slot *slot = look_at(item).slot;
  b_buffer b = begin_reply(id);
  memset(&info, 0, sizeof info);
  if (slot) berth_slot_info(slot, &info);
  put_text(&b, "user", item->user);
  put_number(&b, "license_id", info.license_id);
  put_text(&b, "registered_at", info.registered_at);
  put_text(&b, "expires_at", info.expires_at);
  put_boolean(&b, "is_held", info.is_held);
  put_boolean(&b, "is_borrowed", info.is_borrowed);
  end_reply(&b);
}

static void reply_feature(long long id, struct item *item, const char *code) {
  berth_feature *feature = look_at(item).feature;
  b_buffer b = begin_reply(id);
  put_text(&b, "code", code);
  put_boolean(&b, "is_held", feature && berth_feature_is_held(feature));
  end_reply(&b);
}

static void reply_nothing(long long id) {
  b_buffer b = begin_reply(id);
  end_reply(&b);
}

/* In C, 0 is the default; the other clients refuse it as a time-out. */
static double seconds_of(const char *json, const char *field) {
  const char *value = b_find(json, field);
  double seconds = real_of(json, field, 0);
  if (!value || *value == 'n') return 0;
  return seconds == 0 ? -1 : seconds;
}

static void run_client(long long id, const char *json) {
  struct item *item = add_item(json, "client");
  char *urls = list_of(json, "urls"), *product = text_of(json, "product");
  char *ca = text_of(json, "ca"), *certificate = text_of(json, "certificate");
  char *name = text_of(json, "login.name"), *password = text_of(json, "login.password");
  char *nonce = text_of(json, "nonce"), *root_keys = list_of(json, "root_keys");
  char *retired = list_of(json, "retired");
  const char *allow = b_find(json, "allow_plain_password");
  berth_options options = {0};
  berth_error e;
  options.urls = urls;
  options.allow_plain_password = allow && *allow == 't';
  options.product = product;
  options.ca = ca;
  options.certificate = certificate;
  options.login_name = name;
  options.login_password = password;
  options.timeout = seconds_of(json, "timeout");
  options.retry_for = seconds_of(json, "retry_for");
  options.nonce = nonce;
  options.root_keys = root_keys;
  options.retired = retired;
  item->client = (berth_client *)item;
  if (berth_client_new(&options, &item->client, &e)) {
    reply_failure(id, &e, !item->client);
    free(item);
  } else {
    publish_item(item);
    reply_nothing(id);
  }
  free(urls);
  free(product);
  free(ca);
  free(certificate);
  free(name);
  free(password);
  free(nonce);
  free(root_keys);
  free(retired);
}

static void run_acquire(long long id, const char *json, struct item *client) {
  struct item *item = add_item(json, "slot");
  char *user_info = text_of(json, "user_info");
  berth_acquire_options options = {0};
  berth_error e;
  item->owner = client;
  copy_text(json, "user", item->user, sizeof item->user);
  options.wait = real_of(json, "wait", 0);
  options.license_id = number_of(json, "license_id", 0);
  options.user_info = user_info;
  options.on_loss = on_loss;
  options.on_wait = on_wait;
  options.loss_data = options.wait_data = item;
  item->slot = (berth_slot *)item;
  if (berth_acquire(client->client, item->user, &options, &item->slot, &e)) {
    reply_failure(id, &e, !item->slot);
    free(item);
  } else {
    publish_item(item);
    reply_slot(id, item);
  }
  free(user_info);
}

static void run_acquire_feature(long long id, const char *json, struct item *slot) {
  struct item *item = add_item(json, "feature");
  char *code = text_of(json, "code");
  berth_slot *handle = look_at(slot).slot;
  berth_error e;
  item->owner = slot->owner;
  item->feature = (berth_feature *)item;
  if (!handle) {
    refuse(id, "invalid_argument");
    free(item);
  } else if (berth_feature_acquire(handle, code, on_loss, item, &item->feature, &e)) {
    reply_failure(id, &e, !item->feature);
    free(item);
  } else {
    publish_item(item);
    reply_feature(id, item, code);
  }
  free(code);
}

static void run_release(long long id, struct item *item) {
  b_buffer b;
  int kind = BERTH_OK;
  struct item now;
  pthread_mutex_lock(&items_lock);
  now = *item;
  now.is_closed = item->owner->is_closed;
  item->slot = NULL;
  item->feature = NULL;
  pthread_mutex_unlock(&items_lock);
  if (now.slot && !now.is_closed) kind = berth_slot_release(now.slot, NULL);
  if (now.feature && !now.is_closed) kind = berth_feature_release(now.feature, NULL);
  b = begin_reply(id);
  put_boolean(&b, "confirmed", kind == BERTH_OK);
  end_reply(&b);
}

static void run_borrow(long long id, const char *json, struct item *client) {
  char *user = text_of(json, "user"), *until = text_of(json, "until"), *key = text_of(json, "key");
  berth_borrow_options options = {0};
  berth_borrowed borrowed;
  berth_error e;
  options.until = until;
  options.key = key;
  options.license_id = number_of(json, "license_id", 0);
  memset(&borrowed, 1, sizeof borrowed);
  if (berth_borrow(client->client, user, &options, &borrowed, &e)) {
    reply_failure(id, &e, !borrowed.lease && !borrowed.license && !borrowed.license_id
                              && !borrowed.user[0] && !borrowed.borrowed_until[0]);
  } else {
    b_buffer b = begin_reply(id);
    put_text(&b, "user", borrowed.user);
    put_number(&b, "license_id", borrowed.license_id);
    put_text(&b, "borrowed_until", borrowed.borrowed_until);
    put_text(&b, "lease", borrowed.lease);
    put_text(&b, "license", borrowed.license);
    end_reply(&b);
    berth_borrow_free(&borrowed);
  }
  free(user);
  free(until);
  free(key);
}

static void run_consume(long long id, const char *json, struct item *client) {
  char *feature = text_of(json, "feature"), *user = text_of(json, "user");
  char *key = text_of(json, "key");
  const char *allow = b_find(json, "allow_overages");
  long long overages = number_of(json, "max_overages", -1);
  berth_consume_options options = {0};
  berth_consumption counted;
  berth_error e;
  options.feature = feature;
  options.user = user;
  options.key = key;
  options.license_id = number_of(json, "license_id", 0);
  if (overages >= 0) options.max_overages = &overages;
  if (allow) options.allow_overages = *allow == 't' ? 1 : *allow == 'f' ? -1 : 0;
  memset(&counted, 1, sizeof counted);
  if (berth_consume(client->client, number_of(json, "n", 1), &options, &counted, &e)) {
    reply_failure(id, &e, !counted.total && !counted.license_id && counted.maximum == -1);
  } else {
    b_buffer b = begin_reply(id);
    put_number(&b, "total", counted.total);
    if (counted.maximum < 0) put_text(&b, "maximum", NULL);
    else put_number(&b, "maximum", counted.maximum);
    put_text(&b, "key", counted.key);
    put_number(&b, "license_id", counted.license_id);
    end_reply(&b);
  }
  free(feature);
  free(user);
  free(key);
}

struct counting {
  berth_client *client;
  pthread_mutex_t lock;
  long long left, done, failed;
};

static void *count(void *data) {
  struct counting *counting = (struct counting *)data;
  for (;;) {
    berth_consumption counted;
    long long left;
    int kind;
    pthread_mutex_lock(&counting->lock);
    left = counting->left--;
    pthread_mutex_unlock(&counting->lock);
    if (left <= 0) return NULL;
    kind = berth_consume(counting->client, 1, NULL, &counted, NULL);
    pthread_mutex_lock(&counting->lock);
    if (kind == BERTH_OK) counting->done++;
    else counting->failed++;
    pthread_mutex_unlock(&counting->lock);
  }
}

static void run_consume_many(long long id, const char *json, struct item *client) {
  struct counting counting;
  long long concurrency = number_of(json, "concurrency", 1), i;
  pthread_t *threads = (pthread_t *)calloc((size_t)concurrency, sizeof *threads);
  b_buffer b;
  memset(&counting, 0, sizeof counting);
  pthread_mutex_init(&counting.lock, NULL);
  counting.client = client->client;
  counting.left = number_of(json, "count", 1);
  for (i = 0; i < concurrency; i++) pthread_create(&threads[i], NULL, count, &counting);
  for (i = 0; i < concurrency; i++) pthread_join(threads[i], NULL);
  free(threads);
  b = begin_reply(id);
  put_number(&b, "done", counting.done);
  put_number(&b, "failed", counting.failed);
  end_reply(&b);
}

static void run_verify(long long id, const char *json, struct item *client) {
  char *lease = text_of(json, "lease"), *license = text_of(json, "license");
  berth_lease checked;
  berth_error e;
  memset(&checked, 1, sizeof checked);
  if (berth_verify(client->client, lease ? lease : "", license ? license : "", &checked, &e)) {
    reply_failure(id, &e, !checked.user[0] && !checked.product[0] && !checked.expires_at[0]
                              && !checked.license_id && !checked.serial);
  } else {
    b_buffer b = begin_reply(id);
    put_text(&b, "user", checked.user);
    put_number(&b, "license_id", checked.license_id);
    put_text(&b, "expires_at", checked.expires_at);
    put_text(&b, "product", checked.product);
    put_number(&b, "serial", checked.serial);
    end_reply(&b);
  }
  free(lease);
  free(license);
}

/* What a child process sees; its exit status and a pipe bring it back. */
static void run_fork(long long id, struct item *client, struct item *slot) {
  struct {
    int is_held, is_confirmed;
    char code[40];
  } seen;
  berth_slot *other, *own = look_at(slot).slot;
  berth_error e;
  b_buffer b;
  int ends[2];
  pid_t child;
  memset(&seen, 0, sizeof seen);
  if (pipe(ends)) {
    refuse(id, "pipe");
    return;
  }
  child = fork();
  if (child == 0) {
    seen.is_held = berth_slot_is_held(own);
    berth_acquire(client->client, "child", NULL, &other, &e);
    strcpy(seen.code, e.code);
    seen.is_confirmed = berth_slot_release(own, NULL) == BERTH_OK;
    berth_client_free(client->client);
    if (write(ends[1], &seen, sizeof seen) != (ssize_t)sizeof seen) _exit(1);
    exit(0); /* with the exit hooks */
  }
  if (read(ends[0], &seen, sizeof seen) != (ssize_t)sizeof seen) strcpy(seen.code, "no reply");
  waitpid(child, NULL, 0);
  close(ends[0]);
  close(ends[1]);
  b = begin_reply(id);
  put_boolean(&b, "is_held", seen.is_held);
  put_text(&b, "acquire_code", seen.code);
  put_boolean(&b, "release_confirmed", seen.is_confirmed);
  end_reply(&b);
}

static void run_close(long long id, struct item *client) {
  int is_closed;
  pthread_mutex_lock(&items_lock);
  is_closed = client->is_closed;
  client->is_closed = 1;
  pthread_mutex_unlock(&items_lock);
  if (!is_closed) berth_client_free(client->client);
  reply_nothing(id);
}

static void run_with_client(long long id, const char *op, const char *json, struct item *client) {
  char user[300] = "";
  berth_error e;
  b_buffer b;
  if (!strcmp(op, "close")) run_close(id, client);
  else if (look_at(client).is_closed) refuse(id, "client_closed");
  else if (!strcmp(op, "acquire")) run_acquire(id, json, client);
  else if (!strcmp(op, "borrow")) run_borrow(id, json, client);
  else if (!strcmp(op, "consume")) run_consume(id, json, client);
  else if (!strcmp(op, "consume_many")) run_consume_many(id, json, client);
  else if (!strcmp(op, "verify")) run_verify(id, json, client);
  else if (!strcmp(op, "fork")) run_fork(id, client, find_item(json, "slot"));
  else if (!strcmp(op, "nonce")) {
    b = begin_reply(id);
    put_text(&b, "nonce", berth_nonce(client->client));
    end_reply(&b);
  } else if (!strcmp(op, "release_user")) {
    copy_text(json, "user", user, sizeof user);
    if (berth_release(client->client, user, &e)) reply_error(id, &e, NULL);
    else reply_nothing(id);
  }
}

static void run_with_item(long long id, const char *op, const char *json, struct item *item) {
  b_buffer b;
  if (!strcmp(op, "slot")) reply_slot(id, item);
  else if (!strcmp(op, "release")) run_release(id, item);
  else if (!strcmp(op, "feature")) reply_feature(id, item, item->name);
  else if (look_at(item).is_closed) refuse(id, "client_closed");
  else if (!strcmp(op, "acquire_feature")) run_acquire_feature(id, json, item);
  else if (!strcmp(op, "license")) {
    char *license = berth_slot_license(look_at(item).slot);
    b = begin_reply(id);
    append_name(&b, "license");
    append(&b, license);
    end_reply(&b);
    free(license);
  }
}

static void *run(void *data) {
  struct request *request = (struct request *)data;
  char op[32] = "";
  const char *json = request->json;
  struct item *item;
  berth_error e;
  copy_text(json, "op", op, sizeof op);
  if (!strcmp(op, "client")) {
    run_client(request->id, json);
  } else if (!strcmp(op, "drop")) {
    b_fail(&e, BERTH_REFUSED, "unsupported", "C has no garbage collector");
    reply_error(request->id, &e, "Unsupported");
  } else if (b_find(json, "client")) {
    item = find_item(json, "client");
    if (item) run_with_client(request->id, op, json, item);
    else refuse(request->id, "unknown_client");
  } else {
    item = find_item(json, b_find(json, "slot") ? "slot" : "feature");
    if (item) run_with_item(request->id, op, json, item);
    else refuse(request->id, "unknown_item");
  }
  free(request->json);
  free(request);
  return NULL;
}

int main(void) {
  char *line = NULL;
  size_t room = 0;
  ssize_t size;
  pthread_attr_t detached;
  pthread_t thread;
  /* As many programs do; without the locale, the test of it would test nothing. */
  if (!setlocale(LC_ALL, "")) return 4;
  pthread_attr_init(&detached);
  pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
  while ((size = getline(&line, &room, stdin)) > 0) {
    struct request *request = (struct request *)calloc(1, sizeof *request);
    if (!b_is_object(line, (size_t)size, 0)) return 2;
    request->json = strdup(line);
    request->id = number_of(line, "id", 0);
    if (pthread_create(&thread, &detached, run, request)) return 3;
  }
  free(line);
  pthread_attr_destroy(&detached);
  return 0;
}
