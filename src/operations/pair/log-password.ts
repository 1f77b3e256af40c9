import { readFileSync, statSync } from "node:fs";
import { messageOfError } from "../../platform/error-message.ts";
import { errorCode } from "../../platform/files/system-error.ts";
import { FolderRefused } from "../../store/folder/refusal.ts";
import type { LogUrl } from "../../store/log/postgres/log-url.ts";

/** Where the password of the pair's database may be; the first that is not null counts. */
export interface LogPasswordSources {
  readonly passwordFile: string | null;
  /** The credential of the service manager; null: none was passed. */
  readonly passwordCredential: string | null;
  /** The file of PostgreSQL's own programs, which need not exist. */
  readonly pgpassFile: string | null;
}

type Server = LogUrl["hosts"][number];

const OTHERS = 0o007;
const GROUP_AND_OTHERS = 0o077;

/** Null: there is none. Throws `FolderRefused`. */
export function readLogPassword(
  { passwordFile, passwordCredential, pgpassFile }: LogPasswordSources,
  { user, database }: Pick<LogUrl, "user" | "database">,
  { host, port }: Server,
): string | null {
  if (passwordFile !== null) return readPasswordFile(passwordFile);
  if (passwordCredential !== null) return passwordCredential;
  const text = pgpassFile === null ? null : readIfExists(pgpassFile);
  return text === null ? null : findInPgpass(text, [host, String(port), database, user]);
}

/** The first line: an editor adds a line break. */
function readPasswordFile(path: string): string {
  const password = readPrivateFile(path, OTHERS, "chmod o-rwx").split(/\r?\n/)[0] ?? "";
  if (password !== "") return password;
  throw new FolderRefused(
    "the file with the password of the pair's database begins with an empty line",
    `write the password to the first line of ${path}`,
  );
}

function readIfExists(path: string): string | null {
  if (!canFind(path)) return null;
  return readPrivateFile(path, GROUP_AND_OTHERS, "chmod 600");
}

/** A command that root started runs as the service's user, which may not look into root's home. */
function canFind(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch (error) {
    if (errorCode(error) === "EACCES") return false;
    throw error;
  }
}

function readPrivateFile(path: string, forbidden: number, remedy: string): string {
  try {
    if ((statSync(path).mode & forbidden) === 0) return readFileSync(path, "utf8");
  } catch (error) {
    throw new FolderRefused(
      `the password of the pair's database cannot be read: ${messageOfError(error)}`,
      `check the file ${path}`,
    );
  }
  throw new FolderRefused(
    `other users of this machine can read the password in ${path}`,
    `${remedy} ${path}`,
  );
}

const PGPASS_FIELD = String.raw`((?:[^:\\]|\\.)*)`;
const PGPASS_LINE = new RegExp(`^${`${PGPASS_FIELD}:`.repeat(4)}(.*)$`);

/** The password of the first line whose fields are these, or `*`. */
export function findInPgpass(text: string, fields: readonly string[]): string | null {
  for (const line of text.split(/\r?\n/)) {
    if (line.startsWith("#")) continue;
    const [, ...parts] = PGPASS_LINE.exec(line) ?? [];
    const values = parts.map((part) => part.replaceAll(/\\(.)/g, "$1"));
    const isMatch = fields.every((field, index) => parts[index] === "*" || values[index] === field);
    if (parts.length > 0 && isMatch) return values.at(-1) ?? null;
  }
  return null;
}
