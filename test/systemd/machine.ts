// What an operator types on the machine, and what an application there does.
import { PATIENCE } from "../support/patience.ts";

export const SERVICE = "berth.service";
export const DATA_FOLDER = "/var/lib/berth";
export const UNIT_PATH = `/etc/systemd/system/${SERVICE}`;
const URL = "http://127.0.0.1:8080";

export interface CommandResult {
  readonly code: number;
  readonly output: string;
}

export function run(...words: readonly string[]): CommandResult {
  const { exitCode, stdout, stderr } = Bun.spawnSync([...words], { stdin: "ignore" });
  return { code: exitCode, output: `${stdout.toString()}${stderr.toString()}` };
}

/** Like `run`, while this process goes on with something else. */
export async function runAsync(...words: readonly string[]): Promise<CommandResult> {
  const child = Bun.spawn([...words], { stdin: "ignore", stdout: "pipe", stderr: "pipe" });
  const [out, err, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { code, output: `${out}${err}` };
}

export function runOrThrow(...words: readonly string[]): string {
  const { code, output } = run(...words);
  if (code !== 0) throw new Error(`${words.join(" ")} ended with ${code}: ${output}`);
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

/** True once it holds. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<boolean> {
  const deadline = performance.now() + PATIENCE;
  while (!(await holds())) {
    if (performance.now() > deadline) return false;
    await Bun.sleep(50);
  }
  return true;
}

/** True when it answers at the first call. */
export async function answersNow(): Promise<boolean> {
  try {
    return (await callApi("/api/v4/health")).status === 200;
  } catch {
    return false;
  }
}

/** True once it answers. */
export const waitForAnswer = (): Promise<boolean> => until(answersNow);

/** Who holds a slot, as the operator's own command tells it. */
export function listHolders(): Set<string> {
  const slots = JSON.parse(runOrThrow("berth", "slots", "--json")) as readonly { user: string }[];
  return new Set(slots.map(({ user }) => user));
}

/** Who of these holds no slot. */
export function findMissingUsers(wanted: Iterable<string>): string[] {
  const held = listHolders();
  return [...wanted].filter((user) => !held.has(user));
}

/** Of the server that runs, not of the command. */
export const readServerVersion = (): unknown =>
  (JSON.parse(runOrThrow("berth", "status", "--json")) as { readonly version: unknown }).version;

/** Trusts a vendor of its own and installs a license from it, by the offline loop. */
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
  const terms = ["--slots", String(slots), "--timeout-minutes", "600"];
  const files = ["--request", "/root/request.jwt", "--out", "/root/license.jwt"];
  runOrThrow("berth", "vendor", "issue", "--dir", desk, ...files, "--allow-weak-binding", ...terms);
  runOrThrow("berth", "license", "add", "/root/license.jwt");
}

export interface RegistrationLoad {
  /** Users whose registration was answered with 200. */
  readonly registeredUsers: Set<string>;
  /** What else came back that no server of ours may say. */
  readonly unexpectedReplies: string[];
  /** True once another registration was answered with 200. */
  readonly goesOn: () => Promise<boolean>;
  readonly stop: () => Promise<void>;
}

/** Applications that register one user after the other, whatever happens to the server. */
export function startLoad(name: string, atOnce = 16): RegistrationLoad {
  const granted = new Set<string>();
  const wrong: string[] = [];
  const over = new AbortController();
  let next = 0;
  const one = async (): Promise<void> => {
    while (!over.signal.aborted) {
      const user = `${name}-${(next += 1)}`;
      try {
        const { status, body } = await callApi("/api/v4/register", { product: "CAD", user });
        if (status === 200) granted.add(user);
        else wrong.push(`${status} ${String(body["code"])}`);
      } catch {
        // No answer, no promise.
        await Bun.sleep(20);
      }
    }
  };
  const all = Array.from({ length: atOnce }, one);
  return {
    registeredUsers: granted,
    unexpectedReplies: wrong,
    goesOn: () => {
      const before = granted.size;
      return until(() => granted.size > before);
    },
    stop: async () => {
      over.abort();
      await Promise.all(all);
    },
  };
}
