import type { RegistrationReply } from "../../../http/routes/slots/registrations.ts";
import { setFields, unwrapReply, withAdminClient } from "../../client/admin-client.ts";
import { defineCommand } from "../../frame/define-command.ts";
import { option, siteOptions } from "../../frame/flags.ts";
import { createTimeFormatter } from "../../frame/times.ts";
import { formatList, type Row } from "../../frame/terminal.ts";

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
  const rows = registrations.map(
    (slot) =>
      Object.assign(
        {},
        ...Object.values(COLUMNS).map((column) => column?.(slot, formatTime)),
      ) as Row,
  );
  return formatList(rows, "no slot is in use");
}

type Column = (slot: RegistrationReply, formatTime: (text: string) => string) => Row;

/** The column of each field; null: it has none. A field without a line does not compile. */
const COLUMNS: { readonly [F in keyof RegistrationReply]: Column | null } = {
  product: ({ product }) => ({ product }),
  user: ({ user }) => ({ user }),
  os_hostname: (slot) => ({ host: slot.os_hostname || "-" }),
  peer: (slot) => ({ from: slot.peer }),
  registered_at: (slot, formatTime) => ({ since: formatTime(slot.registered_at) }),
  last_seen_at: (slot, formatTime) => ({ "last seen": formatTime(slot.last_seen_at) }),
  expires_at: (slot, formatTime) => ({ until: formatTime(slot.expires_at) }),
  borrowed_until: (slot) => ({ borrowed: slot.borrowed_until === null ? "no" : "yes" }),
  features: ({ features }) => ({ features: features.join(", ") || "-" }),
  license_id: null,
  ip_local: null,
  user_info: null,
  home: null,
};
