/* Checks a lease on a machine without an id, with a client that was given no nonce. Its arguments:
 * the vendor's key, the product, the lease and the license. */
#define _DEFAULT_SOURCE
#include <stdio.h>
static FILE *open_nothing(const char *path, const char *mode) {
  (void)path;
  (void)mode;
  return NULL;
}
#define fopen open_nothing
#define BERTH_IMPLEMENTATION
#include "berth.h"

int main(int count, char **arguments) {
  berth_options options = {.urls = "http://127.0.0.1:9"};
  berth_client *client;
  berth_error error;
  berth_lease lease;
  if (count != 5) return 2;
  options.root_keys = arguments[1];
  options.product = arguments[2];
  if (berth_client_new(&options, &client, &error)) return 3;
  int kind = berth_verify(client, arguments[3], arguments[4], &lease, &error);
  printf("%d %s: %s\n", kind == BERTH_INVALID_ARGUMENT, error.code, error.message);
  berth_client_free(client);
  return 0;
}
