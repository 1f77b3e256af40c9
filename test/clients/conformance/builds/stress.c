/* Many threads use one client for few users, so that they meet in every call. At the end, the client
 * is freed while threads wait for a slot in it.
 *
 *   stress URL PRODUCT ROUNDS
 *
 * Prints the number of counted consumptions. The license has 5 slots. */
#define _POSIX_C_SOURCE 200809L
#define BERTH_IMPLEMENTATION
#include "berth.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define THREADS 8
#define USERS 3
#define SLOTS 5
#define WAITERS 4

static const char *const users[USERS] = {"ada", "bob", "eve"};
static const char *const borrowers[2] = {"borrower-0", "borrower-1"};

static berth_client *client;
static int rounds;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static long consumed;
static int waiting;
static int failures;

static void report(const char *call, const char *code, const char *message) {
  pthread_mutex_lock(&lock);
  failures++;
  fprintf(stderr, "%s: %s: %s\n", call, code, message);
  pthread_mutex_unlock(&lock);
}

static void fail(const char *call, const berth_error *error) {
  report(call, error->code, error->message);
}

static unsigned next_random(unsigned *state) {
  *state = *state * 1103515245u + 12345u;
  return *state >> 16;
}

/* A call that another thread may have made impossible: a refusal is right, any other error is not. */
static int is_refusal(int kind) { return kind == BERTH_REFUSED || kind == BERTH_NO_FREE_SLOT; }

static void count(unsigned *state) {
  berth_consume_options options;
  berth_consumption counted;
  berth_error error;
  long long n = 1 + next_random(state) % 3;
  memset(&options, 0, sizeof options);
  options.user = users[next_random(state) % USERS];
  if (berth_consume(client, n, &options, &counted, &error) != BERTH_OK) {
    fail("consume", &error);
    return;
  }
  pthread_mutex_lock(&lock);
  consumed += (long)n;
  pthread_mutex_unlock(&lock);
}

static void use_slot(unsigned *state) {
  berth_slot *slot;
  berth_feature *feature;
  berth_slot_information information;
  berth_error error;
  char *license;
  int kind;
  if (berth_acquire(client, users[next_random(state) % USERS], NULL, &slot, &error) != BERTH_OK) {
    fail("acquire", &error);
    return;
  }
  if (!berth_slot_is_held(slot)) report("acquire", "is_held", "the slot is not held");
  berth_slot_info(slot, &information);
  license = berth_slot_license(slot);
  free(license);
  kind = berth_feature_acquire(slot, "RENDER", NULL, NULL, &feature, &error);
  if (kind == BERTH_OK) {
    berth_feature_is_held(feature);
    if (next_random(state) % 2 != 0) count(state);
    berth_feature_release(feature, NULL);
  } else if (!is_refusal(kind)) {
    fail("acquire a feature", &error);
  }
  if (berth_slot_release(slot, &error) != BERTH_OK) fail("release", &error);
}

static void borrow(unsigned *state) {
  const char *user = borrowers[next_random(state) % 2];
  berth_borrowed borrowed;
  berth_lease lease;
  berth_error error;
  time_t end = time(NULL) + 3600;
  char until[32];
  struct tm parts;
  strftime(until, sizeof until, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&end, &parts));
  int kind = berth_borrow(client, user, &(berth_borrow_options){.until = until}, &borrowed, &error);
  if (kind == BERTH_OK) {
    /* The client has a root key, but not that of this license. */
    kind = berth_verify(client, borrowed.lease, borrowed.license, &lease, &error);
    if (kind != BERTH_LEASE_REFUSED) fail("verify", &error);
    berth_borrow_free(&borrowed);
    kind = berth_release(client, user, &error);
  }
  if (kind != BERTH_OK && !is_refusal(kind)) fail("borrow", &error);
}

static void *work(void *data) {
  unsigned state = *(unsigned *)data;
  int round;
  for (round = 0; round < rounds; round++) {
    unsigned choice = next_random(&state) % 6;
    if (choice < 3) use_slot(&state);
    else if (choice < 5) count(&state);
    else borrow(&state);
  }
  return NULL;
}

static void note_wait(void *data, int position, int length) {
  int *has_waited = (int *)data;
  (void)position;
  (void)length;
  pthread_mutex_lock(&lock);
  waiting += !*has_waited;
  *has_waited = 1;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
}

struct waiter {
  berth_client *client;
  pthread_t thread;
  char user[32];
  int has_waited;
};

static void *wait_for_slot(void *data) {
  struct waiter *waiter = (struct waiter *)data;
  berth_acquire_options options;
  berth_slot *slot;
  berth_error error;
  memset(&options, 0, sizeof options);
  options.wait = 600;
  options.on_wait = note_wait;
  options.wait_data = &waiter->has_waited;
  if (berth_acquire(waiter->client, waiter->user, &options, &slot, &error) == BERTH_OK) {
    report("a waiting acquire", "ok", "there was a slot");
  } else if (strcmp(error.code, "client_closed") != 0) {
    fail("a waiting acquire", &error);
  }
  return NULL;
}

/* Frees a client in which threads wait for slots that another client holds. */
static void free_while_waiting(const berth_options *options) {
  struct waiter waiters[WAITERS];
  berth_client *other;
  berth_slot *slots[SLOTS];
  berth_error error;
  int i;
  for (i = 0; i < SLOTS; i++) {
    char user[32];
    snprintf(user, sizeof user, "holder-%d", i);
    if (berth_acquire(client, user, NULL, &slots[i], &error) != BERTH_OK) fail("hold", &error);
  }
  if (failures > 0) return;
  if (berth_client_new(options, &other, &error) != BERTH_OK) {
    fail("a second client", &error);
    return;
  }
  memset(waiters, 0, sizeof waiters);
  for (i = 0; i < WAITERS; i++) {
    waiters[i].client = other;
    snprintf(waiters[i].user, sizeof waiters[i].user, "waiter-%d", i);
    pthread_create(&waiters[i].thread, NULL, wait_for_slot, &waiters[i]);
  }
  pthread_mutex_lock(&lock);
  while (waiting < WAITERS) pthread_cond_wait(&changed, &lock);
  pthread_mutex_unlock(&lock);
  berth_client_free(other);
  for (i = 0; i < WAITERS; i++) pthread_join(waiters[i].thread, NULL);
  /* The slots are released with the client. */
}

int main(int argc, char **argv) {
  pthread_t threads[THREADS];
  unsigned seeds[THREADS];
  berth_options options = {0};
  berth_error error;
  int i;
  if (argc != 4) return 2;
  rounds = atoi(argv[3]);
  options.urls = argv[1];
  options.product = argv[2];
  options.nonce = "device-0123456789";
  options.root_keys = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";
  options.timeout = 120;
  options.retry_for = 300;
  if (berth_client_new(&options, &client, &error) != BERTH_OK) {
    fail("client", &error);
    return 1;
  }
  for (i = 0; i < THREADS; i++) {
    seeds[i] = (unsigned)i * 7919u + 1u;
    pthread_create(&threads[i], NULL, work, &seeds[i]);
  }
  for (i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  for (i = 0; i < 2; i++) berth_release(client, borrowers[i], NULL);
  free_while_waiting(&options);
  berth_client_free(client);
  printf("{\"consumed\":%ld}\n", consumed);
  return failures > 0;
}
