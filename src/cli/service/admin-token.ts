import { writeFileSync } from "node:fs";
import {
  hashToken,
  hasAdminCredential,
  readAccessList,
  type AccessList,
} from "../../operations/access/access-list.ts";
import { DAY } from "../../domain/time.ts";
import { wallClock } from "../../platform/clock.ts";
import { realDisk } from "../../platform/files/disk.ts";
import { formatDay } from "../../platform/rfc3339.ts";
import { Failure } from "../frame/command.ts";
import { printWarning } from "../frame/terminal.ts";
import { writeFileAtomically, type InstallStep } from "./steps.ts";
import { servicePaths } from "./unit.ts";

/** Half of a token's year: an upgrade in the second half creates a new one. */
const RENEWAL_PERIOD = 182.5 * DAY;

/** Whether the installer must create a token; `stored` is the token in its file. */
export function isTokenDue(list: AccessList, stored: string | null, now: number): boolean {
  if (!hasAdminCredential(list)) return true;
  if (stored === null) return false;
  const digest = hashToken(stored);
  const token = list.tokens.find(({ sha256 }) => sha256 === digest);
  // It was revoked, so the operator has other credentials.
  if (token === undefined) return false;
  return token.ended === true || token.endsAt === null || token.endsAt - now < RENEWAL_PERIOD;
}

/**
 * The previous token is not revoked: its users have until it expires to switch to the new one.
 * `runCommand` runs a command of this executable.
 */
export const adminTokenStep = (
  runCommand: (...args: readonly string[]) => string,
): InstallStep => ({
  description: `an admin token, valid for one year: ${servicePaths.adminToken}`,
  isDone: () => !isTokenDue(readAccessList(servicePaths.data), readTokenFile(), wallClock()),
  apply() {
    const args = [
      "--name",
      findUnusedName(readAccessList(servicePaths.data)),
      "--json",
      "--data",
      servicePaths.data,
    ];
    const token = createToken(() => runCommand("admin", "token", ...args));
    if (token === null) return;
    writeFileAtomically(servicePaths.adminToken, 0o600, (temporary) =>
      writeFileSync(temporary, `${token}\n`, { mode: 0o600 }),
    );
  },
});

/** A host of a pair that does not lead, or that is stopped, cannot change the access list. */
const PAIR_REFUSALS = new Set(["standby", "pair_read_only", "log_unavailable"]);

/** Null: this host does not lead its pair now, so the token is kept. */
function createToken(run: () => string): string | null {
  try {
    const { token } = JSON.parse(run()) as { readonly token: string };
    return token;
  } catch (error) {
    if (!(error instanceof Failure) || !PAIR_REFUSALS.has(error.code ?? "")) throw error;
    printWarning(`no new admin token: ${error.message}; ${error.hint}`);
    return null;
  }
}

function readTokenFile(): string | null {
  const bytes = realDisk.read(servicePaths.adminToken);
  return bytes === null ? null : new TextDecoder().decode(bytes).trim();
}

function findUnusedName({ tokens }: AccessList): string {
  const isUnused = (name: string): boolean => tokens.every((token) => token.name !== name);
  if (isUnused("service")) return "service";
  const dated = `service-${formatDay(wallClock())}`;
  for (let number = 2, name = dated; ; number += 1, name = `${dated}.${number}`) {
    if (isUnused(name)) return name;
  }
}
