import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { statSync } from "node:fs";
import { errorCode } from "./disk.ts";
import type { Environment } from "./options.ts";
import { readLines, findProcessWithSocket } from "./ports.ts";

/** The server that has an appliance's lock; where nothing tells, null. */
export interface LockHolder {
  readonly pid: number | null;
  readonly folder: string | null;
}

export type LockResult =
  | { readonly result: "taken"; readonly release: () => void }
  | { readonly result: "held"; readonly holder: LockHolder }
  /** No lock, and the reason: nothing to stop a server for. */
  | { readonly result: "unavailable"; readonly reason: string };

/** Who asks, and for what: a copy of a data folder has the same secret. */
export interface LockRequest {
  /** Known to whoever can read the data folder, and to nobody else. */
  readonly secret: Uint8Array;
  readonly folder: string;
  readonly environment: Environment;
}

const NONCE_BYTES = 32;
const TIMEOUT = 5_000;
const RETRY_AFTER = 50;
/** More than a process number, a path and a proof have. */
const MAX_ANSWER = 16 * 1024;

/**
 * One server per appliance on a machine: the lock of a folder does not keep a copy of it from being
 * served beside it. It is a unix socket without a file (Linux), so that it ends with the process
 * however that ends, and is seen by every user of the same network namespace.
 */
export async function acquireApplianceLock(request: LockRequest): Promise<LockResult> {
  const name = lockName(request);
  const end = performance.now() + TIMEOUT;
  for (;;) {
    try {
      return { result: "taken", release: listen(name, request) };
    } catch (error) {
      const code = errorCode(error);
      if (code !== "EADDRINUSE") return { result: "unavailable", reason: code ?? String(error) };
    }
    const found = await identifyHolder(name, request.secret);
    if (found === "unproven") return { result: "unavailable", reason: "the lock name is in use" };
    if (found !== null) return { result: "held", holder: found };
    // Whoever had it ended this instant, or another one has it now.
    if (performance.now() >= end)
      return { result: "unavailable", reason: "the lock name is in use" };
    await Bun.sleep(RETRY_AFTER);
  }
}

/** Null: no server has it. */
export async function findLockHolder(request: LockRequest): Promise<LockHolder | null> {
  const found = await identifyHolder(lockName(request), request.secret);
  return found === "unproven" ? null : found;
}

/**
 * The name can be taken by any user of the machine: only a process that knows the secret counts, or
 * one of this very user. Null: nobody has it, or somebody else than a moment ago.
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

/** Whether a process belongs to this user; root sees those of all others too. */
function isOwnProcess(pid: number): boolean {
  try {
    return statSync(`/proc/${pid}`).uid === process.geteuid?.();
  } catch {
    return false;
  }
}

/** Tests serve many copies at once; each of them says that it is on a machine of its own. */
const TEST_MACHINE_VARIABLE = "BERTH_TEST_MACHINE";

export function lockName({ secret, environment }: LockRequest): string {
  const digest = createHmac("sha256", secret).update(
    `name ${environment[TEST_MACHINE_VARIABLE] ?? ""}`,
  );
  return `\0berth-appliance-${digest.digest("hex").slice(0, 40)}`;
}

const computeProof = (secret: Uint8Array, nonce: Uint8Array): string =>
  createHmac("sha256", secret).update("proof ").update(nonce).digest("hex");

/** Answers whoever asks with the holder, and the proof that it knows the secret. */
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

/** Null: nobody answered in time, or without the proof. */
async function askHolder(name: string, secret: Uint8Array): Promise<LockHolder | null> {
  const nonce = randomBytes(NONCE_BYTES);
  const { promise, resolve } = Promise.withResolvers<string>();
  const late = setTimeout(() => resolve(""), TIMEOUT);
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
    clearTimeout(late);
  }
}

function parseProvenAnswer(answer: string, expected: string): LockHolder | null {
  let said: Partial<Record<"pid" | "folder" | "proof", unknown>>;
  try {
    said = JSON.parse(answer) as typeof said;
  } catch {
    return null;
  }
  const { pid, folder, proof } = said;
  if (typeof proof !== "string" || proof.length !== expected.length) return null;
  if (!timingSafeEqual(Buffer.from(proof), Buffer.from(expected))) return null;
  return typeof pid === "number" && typeof folder === "string" ? { pid, folder } : null;
}

/** The flag of a socket that accepts connections. */
const LISTENING = "00010000";

/** Of the listening socket with that name; null: there is none, or it cannot be told. */
function findSocketInode(name: string): string | null {
  const shown = `@${name.slice(1)}`;
  const row = readLines("/proc/self/net/unix")
    .map((line) => line.trim().split(/\s+/))
    .find((fields) => fields[7] === shown && fields[3] === LISTENING);
  return row?.[6] ?? null;
}
