import { signal } from "@preact/signals";

/** Why this host of a pair shows nothing. */
export interface StandbyNotice {
  readonly code: "standby" | "log_unavailable";
  /** Where the leader is reached; null: it is not known. */
  readonly leaderUrl: string | null;
}

/** Null: this host leads, or is alone. */
export const standbyNotice = signal<StandbyNotice | null>(null);

/** The header of a refusal that names the leader. */
const LEADER_HEADER = "berth-leader";

/** Only an address of a page: another scheme could run a script. */
const WEB_ADDRESS = /^https?:\/\/[^/]/;

/** A refusal of a host that does not lead means that nothing on this page is current. */
export function noteStandby(code: string, headers: Headers): void {
  if (code !== "standby" && code !== "log_unavailable") return;
  const url = headers.get(LEADER_HEADER);
  standbyNotice.value = { code, leaderUrl: url !== null && WEB_ADDRESS.test(url) ? url : null };
}

/** The same view of the page of another host. */
export const addressAt = (url: string, fragment: string): string =>
  `${url.replace(/\/$/, "")}/${fragment}`;
