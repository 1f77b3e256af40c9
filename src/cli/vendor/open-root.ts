import { realpathSync } from "node:fs";
import { basename, dirname, join, resolve, sep } from "node:path";
import { Desk } from "../../desk/desk.ts";
import { readDeskTrust } from "../../desk/desk-records.ts";
import { refuseInsideDesk, Root } from "../../desk/root.ts";
import { realDisk } from "../../platform/files/disk.ts";
import { checkOutputPath, outputDocument } from "../files/output-document.ts";
import { askSecret } from "../files/secret-input.ts";
import { option } from "../frame/flags.ts";
import type { JsonOutcome } from "../frame/outcome.ts";
import { Misuse } from "../frame/options.ts";
import { canAsk, printNote, type TextPart } from "../frame/terminal.ts";
import { readPassphraseFile } from "./open-desk.ts";

/** The options of every command that signs with the vendor's root. */
export const rootOptions = {
  root: option.rootFolder,
  dir: { ...option.anyDeskFolder, help: "the desk's folder, if it is on this machine" },
  rootPassphraseFile: option.rootPassphraseFile,
} as const;

interface RootFlags {
  readonly root: string;
  /** The desk, if it is on this machine; null: it is not. */
  readonly dir: string | null;
  readonly rootPassphraseFile: string | null;
}

/** A thief of a desk must not find the root there, whatever names its folder has. */
export function refuseRootInside(dir: string | null, root: string): void {
  const folder = realPathOf(resolve(root));
  refuseInsideDesk(realDisk, folder);
  if (dir === null) return;
  const desk = realPathOf(resolve(dir));
  if (isInside(folder, desk)) {
    throw new Misuse(
      "the root must not be inside the desk's folder",
      "specify another folder with --root DIR, best on a medium of its own",
    );
  }
  // The medium with the root is in the safe, and the desk is used every day.
  if (!isInside(desk, folder)) return;
  throw new Misuse(
    "the desk's folder must not be inside the root's folder",
    "specify another folder with --root DIR, best on a medium of its own",
  );
}

const isInside = (path: string, outer: string): boolean =>
  path === outer || path.startsWith(outer.endsWith(sep) ? outer : `${outer}${sep}`);

/** Without symbolic links, also of a path that does not exist yet. */
function realPathOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return dirname(path) === path ? path : join(realPathOf(dirname(path)), basename(path));
  }
}

/**
 * Opens the root. It starts from the newer trust document of its folder and the desk. The desk
 * accepts what an earlier command signed and could not give it.
 */
export async function openRoot({ root, dir, rootPassphraseFile }: RootFlags): Promise<Root> {
  refuseRootInside(dir, root);
  const isNeeded = Root.needsPassphrase(realDisk, root);
  const fromFile = readPassphraseFile(rootPassphraseFile);
  const asks = isNeeded && fromFile === null && canAsk();
  const passphrase = asks ? await askSecret("passphrase of the root") : fromFile;
  const opened = await Root.open(realDisk, root, passphrase);
  if (dir === null) return opened;
  const { vendor, document, fileFault } = await readDeskTrust(realDisk, dir);
  const started = await opened.startFrom({ vendor, document });
  // An earlier command was interrupted between the desk's ledger and its file.
  if (fileFault !== null) await Desk.acceptTrust(realDisk, dir, { vendor, document });
  if (started.trust.vendor.version > vendor.version && isComplete(started)) {
    await Desk.acceptTrust(realDisk, dir, started.trust);
    printNote(`the desk accepted version ${started.trust.vendor.version} of the trust document`);
  }
  return started;
}

/** Whether its document has all retirements; else only the next one has. */
const isComplete = ({ trust, retired }: Root): boolean =>
  retired.length === trust.vendor.retired.length;

interface TrustOutput extends RootFlags {
  readonly out: string | null;
  readonly json: boolean;
}

/** Before the root signs: --out must not replace another file. */
export const checkTrustOutput = ({ out, json }: Pick<TrustOutput, "out" | "json">): void =>
  checkOutputPath({ out, json }, "trust");

/** What to do with a new trust document, which the desk has accepted if it is on this machine. */
export async function outputTrust(
  { trust }: Root,
  { root, dir, out }: TrustOutput,
  what: string,
): Promise<JsonOutcome> {
  if (dir !== null) await Desk.acceptTrust(realDisk, dir, trust);
  const { vendor, version, products, retired } = trust.vendor;
  const text = async (): Promise<TextPart[]> => [
    what,
    ...(out === null ? [] : await outputDocument({ out, qr: false }, trust.document, "trust.jwt")),
    `version ${version} of the trust document is in ${root}${dir === null ? "" : ` and ${dir}`}`,
    ...(dir === null ? ["take it to the desk: berth vendor accept trust.jwt"] : []),
    "distribute it; run on each site: berth trust add trust.jwt",
  ];
  return { json: { vendor, version, products, retired, trust: trust.document }, text };
}
