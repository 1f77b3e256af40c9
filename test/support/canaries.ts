// Canary secrets: unique texts that are sent to a server and then searched for in everything that
// it writes.
import { onTestFinished } from "bun:test";
import { openSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { buildBinary } from "./binary.ts";

/** A unique text with characters that every encoding writes differently. */
export const makeCanary = (name: string): string => `canary+${name}/${crypto.randomUUID()}=&"`;

/** The encodings in which a secret may leak; a part of it counts as well. */
export function listEncodings(secret: string): string[] {
  const core = secret.slice(7, -3);
  const bytes = Buffer.from(secret);
  const base64 = [0, 1, 2].map((offset) => {
    const text = Buffer.concat([Buffer.alloc(offset), bytes]).toString("base64");
    return text.slice(4, -6);
  });
  return [
    secret,
    core,
    JSON.stringify(secret).slice(1, -1),
    encodeURIComponent(secret),
    new URLSearchParams({ a: secret }).toString().slice(2),
    bytes.toString("hex"),
    bytes.toString("hex").toUpperCase(),
    ...base64,
    ...base64.map((text) => text.replaceAll("+", "-").replaceAll("/", "_")),
    Buffer.from(core, "utf16le").toString("latin1"),
  ];
}

export const findSecrets = (
  location: string,
  bytes: string,
  secrets: readonly string[],
): string[] =>
  secrets
    .flatMap(listEncodings)
    .filter((text) => bytes.includes(text))
    .map((text) => `${location}: ${text}`);

const listFiles = (folder: string): string[] =>
  readdirSync(folder, { recursive: true })
    .map((name) => join(folder, String(name)))
    .filter((path) => statSync(path).isFile());

export const findLeaks = (folder: string, secrets: readonly string[]): string[] =>
  listFiles(folder).flatMap((path) => findSecrets(path, readFileSync(path, "latin1"), secrets));

/** Command lines of all processes that run this binary, which every user can read. */
export function readCommandLines(binary: string): string[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const line = readFileSync(`/proc/${pid}/cmdline`, "latin1");
        return line.includes(binary) ? [line.replaceAll("\0", " ")] : [];
      } catch {
        return [];
      }
    });
}

/** Starts a server whose output is written to two files in `outputFolder`. */
export async function serveWithCapturedOutput(
  folder: string,
  outputFolder: string,
  ...flags: string[]
) {
  const [out, err] = [join(outputFolder, "stdout"), join(outputFolder, "stderr")];
  const args = ["serve", "--data", folder, "--listen", "127.0.0.1:0", ...flags];
  const child = Bun.spawn([buildBinary(), ...args], {
    stdin: "ignore",
    stdout: openSync(out, "w"),
    stderr: openSync(err, "w"),
    cwd: "/",
    env: {},
  });
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await child.exited;
  });
  while (!/^ready$/m.test(readFileSync(out, "utf8"))) {
    if (child.exitCode !== null) throw new Error(readFileSync(err, "utf8"));
    await Bun.sleep(10);
  }
  const url = /http:\/\/[\d.:]+/.exec(readFileSync(out, "utf8"))?.[0] ?? "";
  return { url, child, err };
}
