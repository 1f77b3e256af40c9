import type { RegistrationReply } from "../../http/routes/admin.ts";
import { csvRecord } from "../../domain/text/csv.ts";
import type { SlotRow } from "./rows.ts";

/** In the order of the file; a field without a line does not compile. */
const FIELDS: { readonly [F in keyof RegistrationReply]: true } = {
  product: true,
  license_id: true,
  user: true,
  os_hostname: true,
  ip_local: true,
  peer: true,
  registered_at: true,
  expires_at: true,
  borrowed_until: true,
  features: true,
  user_info: true,
};

const HEADER = Object.keys(FIELDS) as (keyof RegistrationReply)[];

export const csvOf = (rows: readonly SlotRow[]): string =>
  [HEADER, ...rows.map(cellsOf)].map(csvRecord).join("");

const cellsOf = ({ registration }: SlotRow): readonly string[] =>
  HEADER.map((name) => {
    const value = registration[name];
    return Array.isArray(value) ? value.join(" ") : String(value ?? "");
  });
