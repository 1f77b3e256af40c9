import { csvRecord } from "../../domain/text/csv.ts";
import type { SlotRow } from "./rows.ts";

const HEADER = [
  "product",
  "license_id",
  "user",
  "os_hostname",
  "ip_local",
  "peer",
  "registered_at",
  "expires_at",
  "borrowed_until",
  "features",
  "user_info",
] as const;

export const csvOf = (rows: readonly SlotRow[]): string =>
  [HEADER, ...rows.map(cellsOf)].map(csvRecord).join("");

const cellsOf = ({ registration }: SlotRow): readonly string[] =>
  HEADER.map((name) => {
    const value = registration[name];
    return Array.isArray(value) ? value.join(" ") : String(value ?? "");
  });
