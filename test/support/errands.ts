// What an operator who is not on the machine asks a running server for, and what it leaves there.
import { expect, onTestFinished } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { startBinary, type Running } from "./binary.ts";
import { PATIENCE } from "./patience.ts";
import { makeSite } from "./site-folder.ts";
import { tempFolder } from "./temp-folder.ts";

export const ADMIN = "/api/admin/v1";

export interface Site {
  readonly folder: string;
  readonly server: Running;
}

/** A server at work on a folder of its own, or on one that is there. */
export async function servedSite(
  more: readonly string[] = [],
  folder = join(tempFolder(), "data"),
): Promise<Site> {
  if (!existsSync(folder)) await makeSite(folder, { product: "cad", slots: 100_000 });
  const server = await startBinary("serve", "--data", folder, "--listen", "127.0.0.1:0", ...more);
  onTestFinished(() => server.kill());
  return { folder, server };
}

export const ask = (
  { server }: Site,
  method: string,
  path: string,
  more: RequestInit = {},
): Promise<Response> => fetch(`${server.url}${ADMIN}${path}`, { method, ...more });

export async function asked<T>(site: Site, path: string): Promise<T> {
  const response = await ask(site, "GET", path);
  const body = (await response.json()) as T;
  expect([response.status, body]).toEqual([200, body]);
  return body;
}

export async function register({ server }: Site, user: string, info = ""): Promise<void> {
  const response = await fetch(`${server.url}/api/v4/register`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ user, user_info: info }),
  });
  expect(response.status).toBe(200);
}

/** So many people with a lot to say, so that a backup has some megabytes. */
export async function crowd(site: Site, people: number): Promise<void> {
  const names = Array.from({ length: people }, (_, index) => `user-${index}`);
  for (let at = 0; at < people; at += 100) {
    const some = names.slice(at, at + 100);
    await Promise.all(some.map((name) => register(site, name, randomText(4_000))));
  }
}

const randomText = (length: number): string =>
  Buffer.from(crypto.getRandomValues(new Uint8Array(length / 2))).toString("hex");

/** Files made to be taken away that still have a name. */
export const leftIn = (folder: string): string[] => {
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
export const childrenOf = (pid: number): number[] =>
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
export async function until(what: string, holds: () => boolean): Promise<void> {
  const deadline = performance.now() + PATIENCE;
  while (!holds()) {
    if (performance.now() > deadline) throw new Error(`it never came to pass: ${what}`);
    await Bun.sleep(5);
  }
}
