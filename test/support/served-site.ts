// A running server that is administered over HTTP, and the files and processes it leaves behind.
import { expect, onTestFinished } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { startBinary, type ServerProcess } from "./binary.ts";
import { makeLicensedSite } from "./site-folder.ts";
import { tempFolder } from "./temp-folder.ts";

export const ADMIN_API = "/api/admin/v1";

export interface ServedSite {
  readonly folder: string;
  readonly server: ServerProcess;
}

/** Starts a server on a new folder, or on an existing one. */
export async function serveSite(
  flags: readonly string[] = [],
  folder = join(tempFolder(), "data"),
): Promise<ServedSite> {
  if (!existsSync(folder)) await makeLicensedSite(folder, { product: "cad", slots: 100_000 });
  const server = await startBinary("serve", "--data", folder, "--listen", "127.0.0.1:0", ...flags);
  onTestFinished(() => server.kill());
  return { folder, server };
}

export const callAdmin = (
  { server }: ServedSite,
  method: string,
  path: string,
  init: RequestInit = {},
): Promise<Response> => fetch(`${server.url}${ADMIN_API}${path}`, { method, ...init });

export async function getAdminJson<T>(site: ServedSite, path: string): Promise<T> {
  const response = await callAdmin(site, "GET", path);
  const body = (await response.json()) as T;
  expect([response.status, body]).toEqual([200, body]);
  return body;
}

export async function register({ server }: ServedSite, user: string, info = ""): Promise<void> {
  const response = await fetch(`${server.url}/api/v4/register`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ user, user_info: info }),
  });
  expect(response.status).toBe(200);
}

/** Registers users with long info texts, so that a backup has some megabytes. */
export async function registerUsers(site: ServedSite, count: number): Promise<void> {
  const names = Array.from({ length: count }, (_, index) => `user-${index}`);
  for (let start = 0; start < count; start += 100) {
    const batch = names.slice(start, start + 100);
    await Promise.all(batch.map((name) => register(site, name, randomText(4_000))));
  }
}

const randomText = (length: number): string =>
  Buffer.from(crypto.getRandomValues(new Uint8Array(length / 2))).toString("hex");

/** Download files that have not been unlinked yet. */
export const listDownloads = (folder: string): string[] => {
  const downloads = join(folder, "downloads");
  if (!existsSync(downloads)) return [];
  return readdirSync(downloads, { recursive: true })
    .map(String)
    .filter((name) => /\.tar/.test(name));
};

/**
 * The child processes that a server runs for a caller; its own checkpoints do not count. A child
 * that still looks like the server was only just forked: stopping it would stop the server as well.
 */
export const listChildProcesses = (pid: number): number[] =>
  readdirSync(`/proc/${pid}/task`)
    .flatMap((task) => readOrEmpty(`/proc/${pid}/task/${task}/children`).split(" "))
    .filter((child) => /^\d+$/.test(child))
    .filter((child) => {
      const [program = "", command] = readOrEmpty(`/proc/${child}/cmdline`).split("\0");
      return program !== "" && command !== "checkpoint" && command !== "serve";
    })
    .map(Number);

/** Empty if the process is gone by now. */
function readOrEmpty(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
