import type { RegistrationReply } from "../../http/routes/admin.ts";
import { EXIT_OK, isFlagSet, getStringFlag, type Command, getAdminTarget } from "../command.ts";
import { option } from "../flags.ts";
import { createTimeFormatter } from "../local-time.ts";
import { withAdminClient } from "../admin-client.ts";
import { print, printJson, formatTable } from "../terminal.ts";

export const slotsCommand: Command = {
  name: "slots",
  isCommon: true,
  summary: "list the slots in use",
  options: [
    option.data,
    option.identity,
    option.config,
    option.productFilter,
    option.local,
    option.json,
  ],
  examples: ["berth slots --product CAD", "berth slots --json"],
  run(given) {
    const product = getStringFlag(given, "product");
    const query = product === null ? "" : `?product=${encodeURIComponent(product)}`;
    return withAdminClient(getAdminTarget(given), async (call) => {
      const path = `/api/admin/v1/registrations${query}`;
      const held = (await call("GET", path)) as RegistrationReply[];
      if (isFlagSet(given, "json")) printJson(held);
      else print(held.length === 0 ? "no slot is in use" : text(held, createTimeFormatter(given)));
      return EXIT_OK;
    });
  },
};

function text(held: readonly RegistrationReply[], time: (text: string) => string): string {
  const header = ["PRODUCT", "USER", "HOST", "FROM", "SINCE", "UNTIL", "BORROWED", "FEATURES"];
  const rows = held.map((slot) => [
    slot.product,
    slot.user,
    slot.os_hostname || "-",
    slot.peer,
    time(slot.registered_at),
    time(slot.expires_at),
    slot.borrowed_until === null ? "no" : "yes",
    slot.features.join(", ") || "-",
  ]);
  return formatTable([header, ...rows]);
}
