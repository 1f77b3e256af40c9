import { siteSlug } from "../../domain/text/site-slug.ts";
import { saveText } from "../save.ts";
import { siteName } from "../site-name.ts";

/** Saves a table; the file has the name of the site, of the table, and the day. */
export function saveCsv(csv: string, name: string): void {
  const today = new Date().toISOString().slice(0, "2026-03-02".length);
  saveText(csv, `berth-${siteSlug(siteName.value)}${siteSlug(name)}${today}.csv`, "text/csv");
}
