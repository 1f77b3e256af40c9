import type { RegistrationReply } from "../../../http/routes/slots/registrations.ts";
import { setFields, unwrapReply, withAdminClient } from "../../client/admin-client.ts";
import { defineCommand } from "../../frame/define-command.ts";
import { option, siteOptions } from "../../frame/flags.ts";
import { createTimeFormatter } from "../../frame/times.ts";
import { formatTable } from "../../frame/terminal.ts";

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
  const columns = Object.values(COLUMNS).filter((column) => column !== null);
  return formatTable([
    columns.map(({ title }) => title),
    ...registrations.map((slot) => columns.map(({ text }) => text(slot, formatTime))),
  ]);
}

interface SlotColumn {
  readonly title: string;
  readonly text: (slot: RegistrationReply, formatTime: (text: string) => string) => string;
}

/** The column of each field; null: it has none. A field without a line does not compile. */
const COLUMNS: { readonly [F in keyof RegistrationReply]: SlotColumn | null } = {
  product: { title: "PRODUCT", text: ({ product }) => product },
  user: { title: "USER", text: ({ user }) => user },
  os_hostname: { title: "HOST", text: (slot) => slot.os_hostname || "-" },
  peer: { title: "FROM", text: ({ peer }) => peer },
  registered_at: { title: "SINCE", text: (slot, formatTime) => formatTime(slot.registered_at) },
  last_seen_at: { title: "LAST SEEN", text: (slot, formatTime) => formatTime(slot.last_seen_at) },
  expires_at: { title: "UNTIL", text: (slot, formatTime) => formatTime(slot.expires_at) },
  borrowed_until: {
    title: "BORROWED",
    text: (slot) => (slot.borrowed_until === null ? "no" : "yes"),
  },
  features: { title: "FEATURES", text: ({ features }) => features.join(", ") || "-" },
  license_id: null,
  ip_local: null,
  user_info: null,
  home: null,
};
