/* An application that needs a license: how a vendor integrates berth.h. It holds a slot, uses a
 * feature and counts. `trip` borrows the slot, to work offline; `back` returns it.
 *
 * SERVERS are the URLs of the license server, separated by commas: two for a pair. ROOT_KEY is the
 * public root key of the vendor, 43 characters; `berth demo` prints it. A real application has it
 * in its sources. Build: cc -o app app.c -lcurl -lcrypto -pthread */
#define BERTH_IMPLEMENTATION
#define BERTH_WITH_OPENSSL
#include "berth.h"
static const char LEASE_FILE[] = "lease.jwt", LICENSE_FILE[] = "license.jwt";

static void save(const char *path, const char *text) {
  FILE *file = fopen(path, "w");
  if (file == NULL || fputs(text, file) < 0 || fclose(file) != 0) perror(path);
}

/* Without the file, an empty text. A text that is too long is cut; then the check refuses it. */
static void load(const char *path, char *text, size_t size) {
  FILE *file = fopen(path, "r");
  text[file == NULL ? 0 : fread(text, 1, size - 1, file)] = '\0';
  if (file != NULL) fclose(file);
}

/* The saved lease, if it still allows to work; it is checked without a server. */
static int read_trip(berth_client *client, berth_lease *trip, berth_error *error) {
  static char lease[16384], license[131072];
  load(LEASE_FILE, lease, sizeof lease);
  load(LICENSE_FILE, license, sizeof license);
  if (lease[0] == '\0' || license[0] == '\0') return 0;
  if (berth_verify(client, lease, license, trip, error) == BERTH_OK) return 1;
  printf("the saved lease cannot be used: %s\n", error->message);
  return 0;
}

/* The borrow outlives this process: what proves it is saved beside the application. */
static int begin_trip(berth_client *client, const char *user, berth_error *error) {
  time_t end = time(NULL) + 7 * 24 * 3600; /* a week; a real application asks the user */
  char until[32];
  berth_borrow_options options = {.until = until};
  berth_borrowed borrow;
  strftime(until, sizeof until, "%Y-%m-%dT%H:%M:%SZ", gmtime(&end));
  int kind = berth_borrow(client, user, &options, &borrow, error);
  if (kind != BERTH_OK) return kind;
  save(LEASE_FILE, borrow.lease);
  save(LICENSE_FILE, borrow.license);
  printf("borrowed until %s\n", borrow.borrowed_until);
  berth_borrow_free(&borrow);
  return BERTH_OK;
}

static int end_trip(berth_client *client, const char *user, berth_error *error) {
  int kind = berth_release(client, user, error);
  if (kind == BERTH_OK && remove(LEASE_FILE) == 0) remove(LICENSE_FILE);
  if (kind == BERTH_OK) puts("returned");
  return kind;
}

/* Called on another thread. A real application lets the user save the work. */
static void report_loss(void *output, const char *user, const berth_error *error) {
  (void)user; /* the message names the user */
  fprintf(output, "%s\n", error->message);
}

static void show_place(void *data, int position, int length) {
  (void)data;
  printf("waiting: place %d of %d\n", position, length);
  fflush(stdout);
}

/* Heartbeats keep the slot in the background. At the end, berth_client_free releases it. */
static int work(berth_client *client, const char *user, berth_error *error) {
  berth_acquire_options waiting = {
      .wait = 60, .on_wait = show_place, .on_loss = report_loss, .loss_data = stderr};
  berth_slot_information info;
  berth_consumption count;
  berth_feature *feature;
  berth_slot *slot;
  int kind;
  puts("waiting for a slot, for at most 60 seconds");
  fflush(stdout);
  kind = berth_acquire(client, user, &waiting, &slot, error);
  if (kind == BERTH_OK) kind = berth_feature_acquire(slot, "RENDER", NULL, NULL, &feature, error);
  if (kind != BERTH_OK) return kind;
  berth_slot_info(slot, &info);
  printf("license %lld until %s\n", info.license_id, info.expires_at);
  if (berth_slot_is_held(slot)) puts("rendering"); /* check it before each long step */
  berth_feature_release(feature, NULL);
  kind = berth_consume(client, 3, NULL, &count, error);
  if (kind != BERTH_OK) return kind;
  printf("%lld of %lld pages are counted\n", count.total, count.maximum);
  kind = berth_consume(client, 1, &(berth_consume_options){.feature = "EXPORT"}, &count, error);
  if (kind == BERTH_OK) printf("%lld of %lld exports are counted\n", count.total, count.maximum);
  return kind;
}

int main(int argc, char **argv) {
  const char *command = argc > 4 ? argv[4] : "work";
  if (argc < 4) fputs("usage: ./app SERVERS USER ROOT_KEY [trip|back]\n", stderr);
  if (argc < 4) return 2;
  berth_options options = {.urls = argv[1], .product = "DEMO", .root_keys = argv[3]};
  berth_client *client;
  berth_error error;
  berth_lease trip;
  int kind = berth_client_new(&options, &client, &error);
  if (kind == BERTH_OK) {
    if (strcmp(command, "trip") == 0) kind = begin_trip(client, argv[2], &error);
    else if (strcmp(command, "back") == 0) kind = end_trip(client, argv[2], &error);
    else if (!read_trip(client, &trip, &error)) kind = work(client, argv[2], &error);
    else printf("offline as %s until %s\n", trip.user, trip.expires_at);
    berth_client_free(client);
  }
  if (kind != BERTH_OK) fprintf(stderr, "%s\n", error.message);
  return kind == BERTH_OK ? 0 : 1;
}
