import { PairRefused } from "../../store/folder/refusal.ts";
import type { Leadership } from "./leadership.ts";

/** A host that leads reports every two seconds. */
const SILENT_MS = 6_000;
const POLL_MS = 100;
/** So many terms: one may belong to a host that was killed just now. */
const MAX_TERMS = 3;

/**
 * For a command on a host whose server is stopped: leads the pair, as soon as no other host does.
 * Throws if another host leads.
 */
export async function leadAlone(leadership: Leadership, termMs: number): Promise<void> {
  leadership.start();
  for (let waitedMs = 0; waitedMs < MAX_TERMS * termMs; waitedMs += POLL_MS) {
    const { host, mayAnswer, leader, hosts } = leadership.status();
    if (mayAnswer) return;
    const other = hosts.find((row) => row.host === leader && row.host !== host);
    if (other !== undefined && other.ageMs < SILENT_MS) throw otherLeads(other.host);
    await Bun.sleep(POLL_MS);
  }
  const { host, leader, problem } = leadership.status();
  if (leader !== null && leader !== host) throw otherLeads(leader);
  throw new PairRefused(
    `this host could not lead the pair: ${problem ?? "the database gave no term"}`,
    "if the database is lost, berth pair leave --without-database continues with the copy of this host",
  );
}

const otherLeads = (host: string): PairRefused =>
  new PairRefused(`host ${host} leads the pair`, `run the command on ${host}, or stop it first`);
