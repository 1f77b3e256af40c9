import { lstatSync } from "node:fs";
import { dirname, join } from "node:path";
import { TRUST_FILE, type TrustDocument } from "../../desk/trust-document.ts";
import { verifyTrustDocument } from "../../license/documents/trust.ts";
import { messageOfError } from "../../platform/error-message.ts";
import { realDisk } from "../../platform/files/disk.ts";
import { writeOutputText } from "../files/output-file.ts";

/**
 * Writes the trust document beside an answer for a site that needs it. It replaces nothing but an
 * older one of the same vendor. Returns the line to print; the answer is written already.
 */
export async function writeTrustBeside(out: string, trust: TrustDocument): Promise<string> {
  const path = join(dirname(out), TRUST_FILE);
  const send = "send the site trust.jwt of the desk, too";
  try {
    const existing = readExisting(path);
    if (existing === trust.document)
      return `${path} is for the site, too: it does not have the newest one`;
    if (existing !== null && !(await isOlder(existing, trust)))
      return `${path} is another file and was not replaced: ${send}`;
    await writeOutputText(path, `${trust.document}\n`);
    return `${path} is written for the site, too: it does not have the newest one`;
  } catch (error) {
    return `${path} could not be written (${messageOfError(error)}): ${send}`;
  }
}

/** Null: there is no such file. Empty: it is no document. */
function readExisting(path: string): string | null {
  const entry = lstatSync(path, { throwIfNoEntry: false });
  if (entry === undefined) return null;
  if (!entry.isFile() || entry.size > MAX_BYTES) return "";
  return new TextDecoder().decode(realDisk.read(path) ?? new Uint8Array()).trim();
}

const MAX_BYTES = 64 * 1_024;

async function isOlder(existing: string, { vendor }: TrustDocument): Promise<boolean> {
  const verified = await verifyTrustDocument(existing);
  if (!verified.ok) return false;
  return verified.value.jwk.x === vendor.jwk.x && verified.value.version < vendor.version;
}
