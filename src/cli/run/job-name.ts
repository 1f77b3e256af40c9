import { hostname, networkInterfaces } from "node:os";
import type { Environment } from "../../platform/environment.ts";

/** What a command says about itself to the server. */
export interface JobIdentity {
  readonly user: string;
  readonly host: string;
  readonly address: string;
}

/** Keeps the whole name below the server's limit of 256 bytes. */
const MAX_PERSON_BYTES = 128;
const MAX_HOST_BYTES = 64;

/**
 * `person#host.pid-random`: a slot of its own for each command. The random part is needed where
 * containers share the name of their host: the first process of each has the same number.
 */
export function nameJob(person: string, isExact: boolean): JobIdentity {
  const host = replaceRefused(hostname());
  const suffix = `${truncateToBytes(host, MAX_HOST_BYTES)}.${process.pid}-${randomSuffix()}`;
  const user = isExact ? person : `${truncateToBytes(person, MAX_PERSON_BYTES)}#${suffix}`;
  return { user, host, address: localAddress() };
}

/** The name of the user at this machine; `#` would begin the part that is added. */
export function findPerson(environment: Environment): string {
  return replaceRefused(readUserName(environment)).replaceAll("#", "_");
}

/** The system knows the user better than the variables do, but not in every container. */
const readUserName = ({ USER, LOGNAME, USERNAME }: Environment): string =>
  readSystemUserName() || USER || LOGNAME || USERNAME || `uid-${process.getuid?.() ?? "unknown"}`;

/** The runtime's own function reads variables only. Empty: Windows, or the user has no name. */
function readSystemUserName(): string {
  try {
    const { exitCode, stdout } = Bun.spawnSync(["/usr/bin/id", "-un"], { stderr: "ignore" });
    return exitCode === 0 ? stdout.toString().trim() : "";
  } catch {
    return "";
  }
}

/** The server refuses control characters and invisible characters in names. */
const replaceRefused = (name: string): string =>
  name.normalize("NFC").replaceAll(/[\p{C}\p{DI}\p{Zl}\p{Zp}]/gu, "_");

const randomSuffix = (): string =>
  crypto.getRandomValues(new Uint32Array(1))[0]?.toString(36).padStart(7, "0") ?? "";

/** The first address of this machine on a network, for the operator; empty: none. */
const localAddress = (): string =>
  Object.values(networkInterfaces())
    .flat()
    .find((entry) => entry !== undefined && !entry.internal)?.address ?? "";

/** Cuts off whole characters at the end. */
function truncateToBytes(text: string, limit: number): string {
  const characters = Array.from(text);
  while (Buffer.byteLength(characters.join("")) > limit) characters.pop();
  return characters.join("");
}
