// What an operator who is not on the machine asks a running server for, and what it leaves there.
import { expect, onTestFinished } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { startBinary, type ServerProcess } from "./binary.ts";
import { PATIENCE } from "./patience.ts";
import { makeLicensedSite } from "./site-folder.ts";
import { tempFolder } from "./temp-folder.ts";

export const ADMIN_API = "/api/admin/v1";

export interface ServedSite {
  readonly folder: string;
  readonly server: ServerProcess;
}

/** A server at work on a folder of its own, or on one that is there. */
export async function serveSite(
  more: readonly string[] = [],
  folder = join(tempFolder(), "data"),
): Promise<ServedSite> {
  if (!existsSync(folder)) await makeLicensedSite(folder, { product: "cad", slots: 100_000 });
  const server = await startBinary("serve", "--data", folder, "--listen", "127.0.0.1:0", ...more);
  onTestFinished(() => server.kill());
  return { folder, server };
}

export const callAdmin = (
  { server }: ServedSite,
  method: string,
  path: string,
  more: RequestInit = {},
): Promise<Response> => fetch(`${server.url}${ADMIN_API}${path}`, { method, ...more });

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

/** So many people with a lot to say, so that a backup has some megabytes. */
export async function registerUsers(site: ServedSite, people: number): Promise<void> {
  const names = Array.from({ length: people }, (_, index) => `user-${index}`);
  for (let at = 0; at < people; at += 100) {
    const some = names.slice(at, at + 100);
    await Promise.all(some.map((name) => register(site, name, randomText(4_000))));
  }
}

const randomText = (length: number): string =>
  Buffer.from(crypto.getRandomValues(new Uint8Array(length / 2))).toString("hex");

/** Files made to be taken away that still have a name. */
export const listDownloads = (folder: string): string[] => {
  const place = join(folder, "downloads");
  if (!existsSync(place)) return [];
  return readdirSync(place, { recursive: true })
    .map(String)
    .filter((name) => /\.tar/.test(name));
};

/**
 * The processes a server has beside it for somebody; its checkpoints are its own affair. One that
 * still looks like the server has only just been made: to hold it would hold the server as well.
 */
export const listChildProcesses = (pid: number): number[] =>
  readdirSync(`/proc/${pid}/task`)
    .flatMap((task) => read(`/proc/${pid}/task/${task}/children`).split(" "))
    .filter((child) => /^\d+$/.test(child))
    .filter((child) => {
      const [program = "", command] = read(`/proc/${child}/cmdline`).split("\0");
      return program !== "" && command !== "checkpoint" && command !== "serve";
    })
    .map(Number);

/** Empty: it is gone by now. */
function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

/** Looks again and again. */
export async function waitUntil(what: string, holds: () => boolean): Promise<void> {
  const deadline = performance.now() + PATIENCE;
  while (!holds()) {
    if (performance.now() > deadline) throw new Error(`it never came to pass: ${what}`);
    await Bun.sleep(5);
  }
}
