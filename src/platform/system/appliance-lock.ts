import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { statSync } from "node:fs";
import { errorCode } from "../files/system-error.ts";
import type { Environment } from "../environment.ts";
import { readLines, findProcessWithSocket } from "../network/ports.ts";

/** The server that has an appliance's lock; unknown values are null. */
export interface LockHolder {
  readonly pid: number | null;
  readonly folder: string | null;
}

export type LockResult =
  | { readonly result: "taken"; readonly release: () => void }
  | { readonly result: "held"; readonly holder: LockHolder }
  /** The lock cannot be used, and why. The server starts without it. */
  | { readonly result: "unavailable"; readonly reason: string };

/** A request for the lock. A copy of a data folder has the same secret, so the same lock. */
export interface LockRequest {
  /** Known only to processes that can read the data folder. */
  readonly secret: Uint8Array;
  readonly folder: string;
  readonly environment: Environment;
}

const NONCE_BYTES = 32;
const TIMEOUT = 5_000;
const RETRY_AFTER = 50;
/** More than a process id, a path and a proof need. */
const MAX_ANSWER = 16 * 1024;

/**
 * Allows one server per appliance on a machine; the lock of a data folder does not prevent that a
 * copy of it is served too. The lock is an abstract unix socket (Linux): it ends with the process
 * in any case, and is visible to all users of the network namespace.
 */
export async function acquireApplianceLock(request: LockRequest): Promise<LockResult> {
  const name = lockName(request);
  const deadline = performance.now() + TIMEOUT;
  for (;;) {
    try {
      return { result: "taken", release: listen(name, request) };
    } catch (error) {
      const code = errorCode(error);
      if (code !== "EADDRINUSE") return { result: "unavailable", reason: code ?? String(error) };
    }
    const holder = await identifyHolder(name, request.secret);
    if (holder === "unproven") return { result: "unavailable", reason: "the lock name is in use" };
    if (holder !== null) return { result: "held", holder };
    // The holder just ended, or another process has the lock now: try again.
    if (performance.now() >= deadline)
      return { result: "unavailable", reason: "the lock name is in use" };
    await Bun.sleep(RETRY_AFTER);
  }
}

/** Null: no server has the lock. */
export async function findLockHolder(request: LockRequest): Promise<LockHolder | null> {
  const holder = await identifyHolder(lockName(request), request.secret);
  return holder === "unproven" ? null : holder;
}

/**
 * Any user of the machine can use the socket name, so only a process that knows the secret counts,
 * or one of this user. Null: no process has it, or the holder changed meanwhile.
 */
async function identifyHolder(
  name: string,
  secret: Uint8Array,
): Promise<LockHolder | "unproven" | null> {
  const before = findSocketInode(name);
  const answer = await askHolder(name, secret);
  if (answer !== null) return answer;
  const inode = findSocketInode(name);
  if (inode === null || inode !== before) return null;
  const pid = findProcessWithSocket(new Set([`socket:[${inode}]`]));
  return pid === null || !isOwnProcess(pid) ? "unproven" : { pid, folder: null };
}

/** Whether a process belongs to this user; root can see processes of all users. */
function isOwnProcess(pid: number): boolean {
  try {
    return statSync(`/proc/${pid}`).uid === process.geteuid?.();
  } catch {
    return false;
  }
}

/**
 * The environment variable that names a simulated machine. Only an executable for tests, which
 * serve many copies at once, is built with one; build/executable.ts names it.
 */
declare const BERTH_MACHINE_VARIABLE: string | undefined;

const simulatedMachine = (environment: Environment): string =>
  typeof BERTH_MACHINE_VARIABLE === "string" ? (environment[BERTH_MACHINE_VARIABLE] ?? "") : "";

export function lockName({ secret, environment }: LockRequest): string {
  const digest = createHmac("sha256", secret).update(`name ${simulatedMachine(environment)}`);
  return `\0berth-appliance-${digest.digest("hex").slice(0, 40)}`;
}

const computeProof = (secret: Uint8Array, nonce: Uint8Array): string =>
  createHmac("sha256", secret).update("proof ").update(nonce).digest("hex");

/** Replies to connections with the holder, and a proof that it knows the secret. */
function listen(name: string, { secret, folder }: LockRequest): () => void {
  const listener = Bun.listen<{ nonce: Buffer }>({
    unix: name,
    socket: {
      open(socket) {
        socket.data = { nonce: Buffer.alloc(0) };
        socket.timeout(TIMEOUT / 1_000);
      },
      data(socket, part) {
        const nonce = Buffer.concat([socket.data.nonce, part]);
        socket.data.nonce = nonce;
        if (nonce.length < NONCE_BYTES) return;
        const proof = computeProof(secret, nonce.subarray(0, NONCE_BYTES));
        socket.end(JSON.stringify({ pid: process.pid, folder, proof }));
      },
      timeout: (socket) => void socket.end(),
      error() {},
    },
  });
  listener.unref();
  return () => listener.stop(true);
}

/** Null: no reply in time, or a reply without the proof. */
async function askHolder(name: string, secret: Uint8Array): Promise<LockHolder | null> {
  const nonce = randomBytes(NONCE_BYTES);
  const { promise, resolve } = Promise.withResolvers<string>();
  const timer = setTimeout(() => resolve(""), TIMEOUT);
  let text = "";
  try {
    const socket = await Bun.connect({
      unix: name,
      socket: {
        data(socket, part) {
          text += part.toString();
          if (text.length > MAX_ANSWER) socket.end();
        },
        close: () => resolve(text),
        error: () => resolve(""),
        connectError: () => resolve(""),
      },
    });
    socket.write(nonce);
    const answer = await promise;
    socket.end();
    return parseProvenAnswer(answer, computeProof(secret, nonce));
  } catch {
    return null;
  } finally {
    clearTimeout(timer);
  }
}

function parseProvenAnswer(answer: string, expected: string): LockHolder | null {
  let reply: Partial<Record<"pid" | "folder" | "proof", unknown>>;
  try {
    reply = JSON.parse(answer) as typeof reply;
  } catch {
    return null;
  }
  const { pid, folder, proof } = reply;
  if (typeof proof !== "string" || proof.length !== expected.length) return null;
  if (!timingSafeEqual(Buffer.from(proof), Buffer.from(expected))) return null;
  return typeof pid === "number" && typeof folder === "string" ? { pid, folder } : null;
}

/** The flag of a socket that accepts connections. */
const LISTENING = "00010000";

/** Inode of the listening socket with that name; null: none, or unknown. */
function findSocketInode(name: string): string | null {
  const displayedName = `@${name.slice(1)}`;
  const row = readLines("/proc/self/net/unix")
    .map((line) => line.trim().split(/\s+/))
    .find((fields) => fields[7] === displayedName && fields[3] === LISTENING);
  return row?.[6] ?? null;
}
