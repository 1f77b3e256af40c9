import type { RegistrationReply } from "../../http/routes/admin.ts";
import {
  EXIT_OK,
  isFlagSet,
  getStringFlag,
  type Command,
  getAdminTarget,
} from "../frame/command.ts";
import { option } from "../frame/flags.ts";
import { createTimeFormatter } from "../frame/local-time.ts";
import { withAdminClient } from "../client/admin-client.ts";
import { print, printJson, formatTable } from "../frame/terminal.ts";

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
  run(flags) {
    const product = getStringFlag(flags, "product");
    const query = product === null ? "" : `?product=${encodeURIComponent(product)}`;
    return withAdminClient(getAdminTarget(flags), async (call) => {
      const path = `/api/admin/v1/registrations${query}`;
      const registrations = (await call("GET", path)) as RegistrationReply[];
      if (isFlagSet(flags, "json")) printJson(registrations);
      else if (registrations.length === 0) print("no slot is in use");
      else print(formatSlots(registrations, createTimeFormatter(flags)));
      return EXIT_OK;
    });
  },
};

function formatSlots(
  registrations: readonly RegistrationReply[],
  formatTime: (text: string) => string,
): string {
  const header = ["PRODUCT", "USER", "HOST", "FROM", "SINCE", "UNTIL", "BORROWED", "FEATURES"];
  const rows = registrations.map((slot) => [
    slot.product,
    slot.user,
    slot.os_hostname || "-",
    slot.peer,
    formatTime(slot.registered_at),
    formatTime(slot.expires_at),
    slot.borrowed_until === null ? "no" : "yes",
    slot.features.join(", ") || "-",
  ]);
  return formatTable([header, ...rows]);
}
