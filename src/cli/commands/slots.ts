import type { RegistrationReply } from "../../http/routes/admin.ts";
import { DONE, isSet, stringOf, type Command, place } from "../command.ts";
import { option } from "../flags.ts";
import { timesFor } from "../local-time.ts";
import { reach } from "../reach.ts";
import { print, printJson, table } from "../terminal.ts";

export const slots: Command = {
  name: "slots",
  everyday: true,
  summary: "list the slots in use",
  options: [option.data, option.identity, option.config, option.product, option.local, option.json],
  examples: ["berth slots --product CAD", "berth slots --json"],
  run(given) {
    const product = stringOf(given, "product");
    const query = product === null ? "" : `?product=${encodeURIComponent(product)}`;
    return reach(place(given), async (call) => {
      const path = `/api/admin/v1/registrations${query}`;
      const held = (await call("GET", path)) as RegistrationReply[];
      if (isSet(given, "json")) printJson(held);
      else print(held.length === 0 ? "no slot is in use" : text(held, timesFor(given)));
      return DONE;
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
  return table([header, ...rows]);
}
