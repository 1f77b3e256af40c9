// A file in C++ of the same program.
#include "berth.h"
#include <iostream>

int main() {
  berth_options options = {};
  berth_client *client = nullptr;
  berth_lease lease;
  berth_error error;
  options.urls = "http://127.0.0.1:9";
  options.product = "CAD";
  options.nonce = "device-0123456789";
  options.root_keys = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";
  if (berth_client_new(&options, &client, &error) != BERTH_OK) return 1;
  if (berth_verify(client, "", "", &lease, &error) != BERTH_LEASE_REFUSED) return 1;
  std::cout << error.code << "\n";
  berth_client_free(client);
  return 0;
}
