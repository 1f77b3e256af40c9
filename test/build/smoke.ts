// Tries a released executable: it reports its version, issues a license for a site, and serves.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { atEnd } from "../support/suite-harness.ts";
import { PATIENCE } from "../support/patience.ts";
import type { ExecutionHost } from "./hosts.ts";

export interface Executable {
  readonly host: ExecutionHost;
  readonly path: string;
}

const spawn = ({ host, path }: Executable, words: readonly string[], folder: string) =>
  Bun.spawn([...host.launcher, path, ...words], {
    cwd: folder,
    env: { PATH: process.env["PATH"] ?? "", TMPDIR: folder, ...host.env },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });

type Child = ReturnType<typeof spawn>;

/** An emulated executable is several times slower. */
const timeoutFor = ({ host }: Executable): number =>
  host.launcher.length === 0 ? PATIENCE : 4 * PATIENCE;

/** Awaits the work of a process, and kills the process when it takes too long. */
async function within<T>(executable: Executable, child: Child, work: Promise<T>): Promise<T> {
  const timer = setTimeout(() => child.kill("SIGKILL"), timeoutFor(executable));
  try {
    return await work;
  } finally {
    clearTimeout(timer);
  }
}

/** Returns the output; when the command fails, prints the reason and returns null. */
export async function runExecutable(
  executable: Executable,
  folder: string,
  ...words: string[]
): Promise<string | null> {
  const child = spawn(executable, words, folder);
  const [code, stdout, stderr] = await within(
    executable,
    child,
    Promise.all([child.exited, child.stdout.text(), child.stderr.text()]),
  );
  if (code !== 0) console.log(`       ${words.join(" ")}: exit ${code}: ${stderr.trim()}`);
  return code === 0 ? stdout : null;
}

interface ServerProcess {
  readonly url: string | undefined;
  stop(): Promise<number>;
}

/** Starts a server and waits until it is ready or has exited. */
export async function startServer(
  executable: Executable,
  folder: string,
  ...words: string[]
): Promise<ServerProcess> {
  const child = spawn(executable, [...words, "--listen", "127.0.0.1:0"], folder);
  atEnd(() => child.kill("SIGKILL"));
  // The time limit applies to the start and the stop, not to the time between them.
  const text = await within(executable, child, untilReady(child));
  return {
    url: /http:\/\/[\d.]+:\d+/.exec(text)?.[0],
    stop() {
      child.kill("SIGTERM");
      return within(executable, child, child.exited);
    },
  };
}

/** Returns the output up to the line `ready`, or to the end. */
async function untilReady(child: Child): Promise<string> {
  let text = "";
  const decoder = new TextDecoder();
  for await (const chunk of child.stdout) {
    text += decoder.decode(chunk, { stream: true });
    if (/^ready$/m.test(text)) break;
  }
  return text;
}

export interface Trial {
  /** What `berth version` must print as its target. */
  readonly system: string;
  /** What `berth version` prints. */
  readonly facts: Readonly<Record<string, string>>;
  readonly notices: string;
  readonly isLicenseAccepted: boolean;
  /** The reply to curl, which ends with the status. */
  readonly demoReply: string;
  readonly demoExitCode: number;
}

/** Tries an executable as a desk that issues a license for a site served by another executable. */
export async function tryExecutable(
  desk: Executable,
  site: Executable,
  scratch: string,
): Promise<Trial> {
  const { target, system } = desk.host;
  const folder = join(scratch, target);
  mkdirSync(folder);
  const version = await runExecutable(desk, folder, "version", "--json");
  return {
    system,
    facts: JSON.parse(version ?? "{}") as Record<string, string>,
    notices: (await runExecutable(desk, folder, "notices")) ?? "",
    isLicenseAccepted: await canIssueLicense(desk, site, folder),
    ...(await tryDemo(desk, folder)),
  };
}

async function canIssueLicense(
  desk: Executable,
  site: Executable,
  folder: string,
): Promise<boolean> {
  const run = (...words: string[]) => runExecutable(desk, folder, ...words);
  const runAtSite = (...words: string[]) => runExecutable(site, folder, ...words, "--data", "site");
  const server = await startServer(site, folder, "serve", "--data", "site");
  const terms = ["--slots", "5", "--valid-until", "2100-01-01"];
  const policy = ["--policy-id", "basic", "--product", "CAD", "--out", "policy.jwt"];
  const requestFlags = ["--request", "request.jwt", "--allow-weak-binding", "--out", "license.jwt"];
  const steps = [
    () =>
      run(
        "vendor",
        "init",
        "--no-passphrase",
        "--name",
        "Acme",
        "--dir",
        "desk",
        "--product",
        "CAD",
      ),
    () => run("vendor", "policy", "--dir", "desk", ...policy, ...terms),
    () => runAtSite("trust", "add", "desk/trust.jwt", "--yes"),
    () => runAtSite("license", "request", "--product", "CAD", "--out", "request.jwt"),
    () => run("vendor", "issue", "--dir", "desk", ...requestFlags, ...terms),
    () => runAtSite("license", "add", "license.jwt"),
  ];
  let isDone = true;
  for (const step of steps) isDone &&= (await step()) !== null;
  await server.stop();
  return isDone;
}

async function tryDemo(
  executable: Executable,
  folder: string,
): Promise<Pick<Trial, "demoReply" | "demoExitCode">> {
  const server = await startServer(executable, folder, "demo", "--data", "demo");
  const curl = ["curl", "-sS", "-w", "%{http_code}", "-H", "Content-Type: application/json"];
  const body = JSON.stringify({ product: "DEMO", user: "ada" });
  const reply = Bun.spawnSync([...curl, "-d", body, `${server.url}/api/v4/register`]);
  const demoReply = `${reply.stdout.toString()}${reply.stderr.toString()}`;
  return { demoReply, demoExitCode: await server.stop() };
}
