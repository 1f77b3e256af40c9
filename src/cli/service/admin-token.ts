import { writeFileSync } from "node:fs";
import { hashToken, hasAdminCredential } from "../../operations/access-control.ts";
import { DAY } from "../../domain/time.ts";
import { wallClock } from "../../platform/clock.ts";
import { realDisk } from "../../platform/disk.ts";
import { rfc3339 } from "../../platform/rfc3339.ts";
import { AccessFile, type AccessList } from "../../store/access-file.ts";
import { writeFileAtomically, type InstallStep } from "./steps.ts";
import { servicePaths } from "./unit.ts";

/** Half of its year: every upgrade after that renews it. */
const RENEWED_BEFORE = 182.5 * DAY;

/** The installer names its first token `service`, and every later one after its day. */
export const isServiceToken = (name: string): boolean => /^service(?:-\d{4}-|$)/.test(name);

/** Whether the installer has to make a token; `written` is what stands in its file. */
export function isTokenDue(list: AccessList, written: string | null, now: number): boolean {
  if (!hasAdminCredential(list)) return true;
  if (written === null) return false;
  const digest = hashToken(written);
  const token = list.tokens.find(({ sha256 }) => sha256 === digest);
  // Revoked: whoever did that has other credentials.
  if (token === undefined) return false;
  return token.ended === true || token.endsAt === null || token.endsAt - now < RENEWED_BEFORE;
}

/**
 * The one before it is not revoked: whoever has copied it has until its end to take the new one.
 * `own` runs a command of this executable.
 */
export const adminTokenStep = (own: (...words: readonly string[]) => string): InstallStep => ({
  description: `an admin token, valid for one year: ${servicePaths.adminToken}`,
  isDone: () => !isTokenDue(readAccessList(), readTokenFile(), wallClock()),
  apply() {
    const words = [
      "--name",
      findUnusedName(readAccessList()),
      "--json",
      "--data",
      servicePaths.data,
    ];
    const { token } = JSON.parse(own("admin", "token", ...words)) as { readonly token: string };
    writeFileAtomically(servicePaths.adminToken, 0o600, (fresh) =>
      writeFileSync(fresh, `${token}\n`, { mode: 0o600 }),
    );
  },
});

const readAccessList = (): AccessList => new AccessFile(realDisk, servicePaths.data).read();

function readTokenFile(): string | null {
  const bytes = realDisk.read(servicePaths.adminToken);
  return bytes === null ? null : new TextDecoder().decode(bytes).trim();
}

function findUnusedName({ tokens }: AccessList): string {
  const isFree = (name: string): boolean => tokens.every((one) => one.name !== name);
  if (isFree("service")) return "service";
  const dated = `service-${rfc3339(wallClock()).slice(0, 10)}`;
  for (let number = 2, name = dated; ; number += 1, name = `${dated}.${number}`) {
    if (isFree(name)) return name;
  }
}
