import { join } from "node:path";
import { Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import type { HardwareComponent } from "../../license/documents/hardware.ts";
import { generateExchangeKey, type ExchangeKey } from "../../license/pair-admission.ts";
import { parsePairRequest, type PairRequest } from "../../license/requests/pair-request.ts";
import { version } from "../../platform/embedded/version.ts";
import type { Disk } from "../../platform/files/disk.ts";
import { replaceFile } from "../../platform/files/files.ts";
import { isEmptyFolder } from "../../store/folder/folder.ts";
import { FolderRefused } from "../../store/folder/refusal.ts";
import { refuseUsedFolder } from "../backups/restore.ts";

/** The request of a host that has not joined yet, with its secret key. Never part of a backup. */
const PENDING_REQUEST_FILE = "pair-request.json";

const Pending = Type.Object({ request: Type.Unknown(), secret_key: Type.String() });

export interface PendingRequest {
  readonly request: PairRequest;
  readonly key: ExchangeKey;
}

/**
 * Makes a request, and keeps its secret key in the data folder. It replaces an earlier one. Throws
 * `PairRefused` if the folder is in use.
 */
export async function makePairRequest(
  disk: Disk,
  folder: string,
  {
    host,
    hardware,
    now,
  }: {
    readonly host: string;
    readonly hardware: readonly HardwareComponent[];
    readonly now: number;
  },
): Promise<PairRequest> {
  await refuseUsedFolder(disk, folder);
  const { x, d } = await generateExchangeKey();
  const request: PairRequest = {
    berth_pair_request: 1,
    host,
    version,
    made_at: now,
    public_key: x,
    hardware: hardware.map(({ kind, value }) => ({ kind, value })),
  };
  const text = `${JSON.stringify({ request, secret_key: d }, null, 1)}\n`;
  disk.makeFolder(folder);
  await replaceFile(disk, join(folder, PENDING_REQUEST_FILE), Buffer.from(text));
  return request;
}

/** Null: no request was made in this folder, or the host joined since. */
export function readPendingRequest(disk: Disk, folder: string): PendingRequest | null {
  const bytes = disk.read(join(folder, PENDING_REQUEST_FILE));
  if (bytes === null) return null;
  try {
    const pending: unknown = JSON.parse(new TextDecoder().decode(bytes));
    if (!Value.Check(Pending, pending)) return null;
    const request = parsePairRequest(JSON.stringify(pending.request));
    if (request === null) return null;
    return { request, key: { x: request.public_key, d: pending.secret_key } };
  } catch {
    return null;
  }
}

/** For a server: it would make a new appliance, with which this host could not join. */
export function refuseOpenRequest(disk: Disk, folder: string): void {
  if (!isEmptyFolder(disk, folder) || readPendingRequest(disk, folder) === null) return;
  throw new FolderRefused(
    `this host has a request to join a pair (${join(folder, PENDING_REQUEST_FILE)})`,
    "run berth pair join FILE first; to serve alone instead, remove the request",
  );
}

export async function removePendingRequest(disk: Disk, folder: string): Promise<void> {
  const path = join(folder, PENDING_REQUEST_FILE);
  if (disk.stat(path) === null) return;
  disk.remove(path);
  await disk.syncFolder(folder);
}
