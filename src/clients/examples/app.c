/* An application that needs a license: how a vendor integrates berth.h.
 *
 *   ./app SERVERS USER VENDOR_KEY          hold a slot, use a feature, count
 *   ./app SERVERS USER VENDOR_KEY trip     borrow the slot for a week, to work offline
 *   ./app SERVERS USER VENDOR_KEY back     return the borrowed slot
 *
 * SERVERS are the URLs of the license server, separated by commas: two for a pair. VENDOR_KEY is
 * the vendor's public key, 43 characters; a real application has it in its sources.
 *
 * Build: cc -o app app.c -lcurl -lcrypto -pthread */
#define BERTH_IMPLEMENTATION
#define BERTH_WITH_OPENSSL
#include "berth.h"

#define LEASE_FILE "lease.jwt"
#define LICENSE_FILE "license.jwt"

static int save(const char *path, const char *text) {
  FILE *file = fopen(path, "w");
  int is_written = file != NULL && fputs(text, file) >= 0;
  return file != NULL && fclose(file) == 0 && is_written;
}

/* Without the file, an empty text. A text that is too long is cut; then the check refuses it. */
static void load(const char *path, char *text, size_t size) {
  FILE *file = fopen(path, "r");
  text[file == NULL ? 0 : fread(text, 1, size - 1, file)] = '\0';
  if (file != NULL) fclose(file);
}

/* The saved lease, if it still allows to work; it is checked without a server. */
static int read_trip(berth_client *client, berth_lease *trip) {
  static char lease[16384], license[131072];
  berth_error error;
  load(LEASE_FILE, lease, sizeof lease);
  load(LICENSE_FILE, license, sizeof license);
  if (lease[0] == '\0' || license[0] == '\0') return 0;
  if (berth_verify(client, lease, license, trip, &error) == BERTH_OK) return 1;
  printf("the saved lease cannot be used: %s\n", error.message);
  return 0;
}

/* The borrow outlives this process: what proves it is saved beside the application. */
static int begin_trip(berth_client *client, const char *user, berth_error *error) {
  char until[32];
  time_t end = time(NULL) + 7 * 86400;
  berth_borrow_options options = {.until = until};
  berth_borrowed borrow;
  strftime(until, sizeof until, "%Y-%m-%dT%H:%M:%SZ", gmtime(&end));
  int kind = berth_borrow(client, user, &options, &borrow, error);
  if (kind != BERTH_OK) return kind;
  if (save(LEASE_FILE, borrow.lease) && save(LICENSE_FILE, borrow.license))
    printf("borrowed until %s\n", borrow.borrowed_until);
  berth_borrow_free(&borrow);
  return BERTH_OK;
}

/* Called on another thread. A real application lets the user save the work. */
static void report_loss(void *data, const char *user, const berth_error *error) {
  (void)data;
  fprintf(stderr, "the license of %s is lost: %s\n", user, error->message);
}

/* Heartbeats keep the slot in the background. If a step fails, berth_client_free releases it. */
static int work(berth_client *client, const char *user, berth_error *error) {
  berth_acquire_options acquire = {.wait = 60, .on_loss = report_loss};
  berth_consume_options by_user = {.user = user};
  berth_consume_options by_feature = {.user = user, .feature = "EXPORT"};
  berth_consumption pages, exports;
  berth_feature *feature;
  berth_slot *slot;
  int kind = berth_acquire(client, user, &acquire, &slot, error);
  if (kind == BERTH_OK) kind = berth_feature_acquire(slot, "RENDER", NULL, NULL, &feature, error);
  if (kind != BERTH_OK) return kind;
  puts("rendering");
  berth_feature_release(feature, NULL);
  kind = berth_consume(client, 3, &by_user, &pages, error);
  if (kind == BERTH_OK) kind = berth_consume(client, 1, &by_feature, &exports, error);
  if (kind != BERTH_OK) return kind;
  printf("%lld of %lld pages are counted\n", pages.total, pages.maximum);
  printf("%lld of %lld exports are counted\n", exports.total, exports.maximum);
  berth_slot_release(slot, NULL);
  return BERTH_OK;
}

int main(int argc, char **argv) {
  if (argc < 4) return 2;
  const char *user = argv[2], *command = argc > 4 ? argv[4] : "work";
  berth_options options = {.urls = argv[1], .product = "DEMO", .vendor_keys = argv[3]};
  berth_client *client;
  berth_error error;
  berth_lease trip;
  int kind = berth_client_new(&options, &client, &error);
  if (kind == BERTH_OK) {
    int is_on_trip = read_trip(client, &trip);
    if (strcmp(command, "trip") == 0) kind = begin_trip(client, user, &error);
    else if (strcmp(command, "back") == 0) {
      kind = berth_release(client, user, &error);
      if (kind == BERTH_OK && remove(LEASE_FILE) == 0 && remove(LICENSE_FILE) == 0)
        puts("returned");
    } else if (is_on_trip) printf("offline as %s until %s\n", trip.user, trip.expires_at);
    else kind = work(client, user, &error);
    berth_client_free(client);
  }
  if (kind != BERTH_OK)
    fprintf(stderr, "%s (%s, %s)\n", error.message, error.code, error.request_id);
  return kind;
}
