import type { RegistrationReply } from "../../http/routes/admin.ts";
import { setFields, unwrapReply, withAdminClient } from "../client/admin-client.ts";
import { defineCommand } from "../frame/define-command.ts";
import { option, siteOptions } from "../frame/flags.ts";
import { createTimeFormatter } from "../frame/times.ts";
import { formatTable } from "../frame/terminal.ts";

export const slotsCommand = defineCommand({
  name: "slots",
  isCommon: true,
  summary: "list the slots in use",
  options: {
    ...siteOptions,
    product: option.productFilter,
    local: option.local,
    json: option.json,
  },
  examples: ["berth slots --product CAD", "berth slots --json"],
  async run({ product, ...options }, context) {
    const slots = await withAdminClient(options, context, ({ admin }) =>
      unwrapReply(admin.registrations.get({ query: setFields({ product }) })),
    );
    return { json: slots, text: () => formatSlots(slots, createTimeFormatter(options)) };
  },
});

function formatSlots(
  registrations: readonly RegistrationReply[],
  formatTime: (text: string) => string,
): string {
  if (registrations.length === 0) return "no slot is in use";
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
