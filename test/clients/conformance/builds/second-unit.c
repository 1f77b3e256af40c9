/* Another file of the same program: it includes the declarations only. */
#include "berth.h"
#include <stdio.h>

int main(void) {
  berth_options options = {0};
  berth_client *client;
  berth_lease lease;
  berth_error error;
  options.urls = "http://127.0.0.1:9";
  options.product = "CAD";
  options.nonce = "device-0123456789";
  options.root_keys = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";
  if (berth_client_new(&options, &client, &error) != BERTH_OK) {
    puts(error.message);
    return 1;
  }
  if (berth_verify(client, "", "", &lease, &error) != BERTH_LEASE_REFUSED) return 1;
  puts(error.code);
  berth_client_free(client);
  return 0;
}
