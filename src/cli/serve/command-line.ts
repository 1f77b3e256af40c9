import { basename, dirname } from "node:path";
import type { CommandLine } from "../../http/services.ts";
import { defaultDataFolder } from "../../platform/environment.ts";
import { selfCommand } from "../../platform/embedded/version.ts";
import { quoteIfNeeded } from "../../platform/shell-quote.ts";

/** The shells of all users, and sudo, find programs here. */
const COMMON_FOLDERS: ReadonlySet<string> = new Set(["/usr/local/bin", "/usr/bin", "/bin"]);

/** What decides how commands are written; tests give their own. */
interface Machine {
  /** The user of the server; null: the system has no user ids. */
  readonly userId: number | null;
  readonly hasSudo: boolean;
  readonly program: readonly string[];
  /** The data folder that a command finds without --data. */
  readonly defaultFolder: string;
}

const readMachine = (): Machine => ({
  userId: process.getuid?.() ?? null,
  hasSudo: Bun.which("sudo") !== null,
  program: selfCommand(),
  // Of a terminal: the server itself may have been started with other variables.
  defaultFolder: defaultDataFolder({}),
});

/** How an operator calls a command for this server, in a terminal on its machine. */
export const describeCommandLine = (folder: string, machine = readMachine()): CommandLine => ({
  executable: machine.program.length === 1 ? programName(machine.program) : quote(machine.program),
  needsSudo: machine.hasSudo && machine.userId !== null && isSystemUser(machine.userId),
  dataFolder: folder === machine.defaultFolder ? "" : folder,
});

function programName([path = ""]: readonly string[]): string {
  return COMMON_FOLDERS.has(dirname(path)) ? basename(path) : quote([path]);
}

const FIRST_PERSON = 1_000;
/** systemd gives these to services that have no user of their own. */
const DYNAMIC_USERS = { first: 61_184, last: 65_519 };

/** No person signs in as such a user: an operator needs sudo to act as it. */
const isSystemUser = (id: number): boolean =>
  id < FIRST_PERSON || (id >= DYNAMIC_USERS.first && id <= DYNAMIC_USERS.last);

const quote = (words: readonly string[]): string => words.map(quoteIfNeeded).join(" ");
