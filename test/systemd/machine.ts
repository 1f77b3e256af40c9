// Commands of an operator and calls of an application on the machine.
import { isEventuallyTrue } from "../support/wait-until.ts";

export const SERVICE = "berth.service";
export const DATA_FOLDER = "/var/lib/berth";
export const UNIT_PATH = `/etc/systemd/system/${SERVICE}`;
const URL = "http://127.0.0.1:8080";

/** Fails the test unless the condition holds, and shows the facts that it was judged by. */
export function expectTrue(holds: boolean, facts: unknown): void {
  if (!holds) throw new Error(Bun.inspect(facts, { depth: 6 }));
}

export interface CommandResult {
  readonly code: number;
  readonly output: string;
}

export function run(...command: readonly string[]): CommandResult {
  const { exitCode, stdout, stderr } = Bun.spawnSync([...command], { stdin: "ignore" });
  return { code: exitCode, output: `${stdout.toString()}${stderr.toString()}` };
}

/** Like `run`, but does not block this process. */
export async function runAsync(...command: readonly string[]): Promise<CommandResult> {
  const child = Bun.spawn([...command], { stdin: "ignore", stdout: "pipe", stderr: "pipe" });
  const [out, err, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { code, output: `${out}${err}` };
}

export function runOrThrow(...command: readonly string[]): string {
  const { code, output } = run(...command);
  if (code !== 0) throw new Error(`${command.join(" ")} exited with ${code}: ${output}`);
  return output;
}

export const readUnitProperty = (property: string): string =>
  run("systemctl", "show", "-P", property, SERVICE).output.trim();

export const readMainPid = (): number => Number(readUnitProperty("MainPID"));

export async function callApi(
  path: string,
  body: object | null = null,
  init: RequestInit & { readonly base?: string; readonly tls?: Bun.TLSOptions } = {},
): Promise<{ readonly status: number; readonly body: Record<string, unknown> }> {
  const response = await fetch(`${init.base ?? URL}${path}`, {
    ...init,
    ...(body !== null && {
      method: "POST",
      body: JSON.stringify(body),
      headers: { "content-type": "application/json" },
    }),
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

/** Whether the service answers this call. */
export async function answersNow(): Promise<boolean> {
  try {
    return (await callApi("/api/v4/health")).status === 200;
  } catch {
    return false;
  }
}

/** Waits until the service answers; false: it timed out. */
export const waitForAnswer = (): Promise<boolean> => isEventuallyTrue(answersNow);

/** The users that hold a slot, from `berth slots`. */
export function listHolders(): Set<string> {
  const slots = JSON.parse(runOrThrow("berth", "slots", "--json")) as readonly { user: string }[];
  return new Set(slots.map(({ user }) => user));
}

/** Those of the given users that hold no slot. */
export function findMissingUsers(users: Iterable<string>): string[] {
  const holders = listHolders();
  return [...users].filter((user) => !holders.has(user));
}

/** The version of the running server, not of the command. */
export const readServerVersion = (): unknown =>
  (JSON.parse(runOrThrow("berth", "status", "--json")) as { readonly version: unknown }).version;

/** Creates and trusts a vendor, and installs a license from it with the offline exchange. */
export function installLicense(slots: number): void {
  const desk = "/root/desk";
  runOrThrow(
    "berth",
    "vendor",
    "init",
    "--no-passphrase",
    "--name",
    "Acme",
    "--dir",
    desk,
    "--product",
    "CAD",
  );
  runOrThrow("berth", "trust", "add", `${desk}/trust.jwt`, "--yes");
  runOrThrow("berth", "license", "request", "--product", "CAD", "--out", "/root/request.jwt");
  const terms = ["--slots", String(slots), "--timeout-minutes", "600", "--valid-until", "never"];
  const files = ["--request", "/root/request.jwt", "--out", "/root/license.jwt"];
  runOrThrow("berth", "vendor", "issue", "--dir", desk, ...files, "--allow-weak-binding", ...terms);
  runOrThrow("berth", "license", "add", "/root/license.jwt");
}

export interface RegistrationLoad {
  /** Users whose registration was answered with 200. */
  readonly registeredUsers: Set<string>;
  /** All other replies, with status and code; there must be none. */
  readonly unexpectedReplies: string[];
  /** Waits until another registration is answered with 200. */
  readonly waitForProgress: () => Promise<boolean>;
  readonly stop: () => Promise<void>;
}

/** Runs clients that register one user after the other, whatever happens to the server. */
export function startLoad(name: string, concurrency = 16): RegistrationLoad {
  const registeredUsers = new Set<string>();
  const unexpectedReplies: string[] = [];
  const abort = new AbortController();
  let next = 0;
  const registerUsers = async (): Promise<void> => {
    while (!abort.signal.aborted) {
      const user = `${name}-${(next += 1)}`;
      try {
        const { status, body } = await callApi("/api/v4/register", { product: "CAD", user });
        if (status === 200) registeredUsers.add(user);
        else unexpectedReplies.push(`${status} ${String(body["code"])}`);
      } catch {
        // The server is down; a registration without an answer does not count.
        await Bun.sleep(20);
      }
    }
  };
  const clients = Array.from({ length: concurrency }, registerUsers);
  return {
    registeredUsers,
    unexpectedReplies,
    waitForProgress: () => {
      const before = registeredUsers.size;
      return isEventuallyTrue(() => registeredUsers.size > before);
    },
    stop: async () => {
      abort.abort();
      await Promise.all(clients);
    },
  };
}
