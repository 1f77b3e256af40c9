import type { OpenRequestReply } from "../../http/routes/requests/requests.ts";
import { formatDate, formatNumber } from "../format.ts";
import { requests as texts } from "./requests-texts.ts";

const DAY = 86_400_000;

/** What a request is for: its product, else its license key. */
export const nameOf = ({ product, license_key }: OpenRequestReply): string =>
  product ?? (license_key === null ? texts.anyProduct : texts.key(license_key));

/** What a request asks for, in one line. */
export function wantedTextOf(request: OpenRequestReply): string {
  const { wanted_slots: slots, wanted_until: until, note, hosts } = request;
  const parts = [
    hosts.length === 0 ? "" : texts.hosts(hosts),
    slots === null ? "" : texts.slots(slots, formatNumber(slots)),
    until === null ? "" : texts.until(formatDate(`${until}T00:00:00.000Z`)),
    note === null ? "" : texts.note(note),
  ].filter((part) => part !== "");
  return parts.length === 0 ? texts.nothing : parts.join(", ");
}

/** How long the vendor has had the request, in whole days. */
export const ageTextOf = ({ created_at }: OpenRequestReply, now: string): string =>
  texts.days(Math.max(0, Math.floor((Date.parse(now) - Date.parse(created_at)) / DAY)));
