import type { VendorReply } from "../../http/routes/trust.ts";
import { admin, done, Refused, v4 } from "../api.ts";
import { misplaced } from "../texts/adding.ts";
import { lookAtTrust, type Offered } from "../trust/offered.ts";
import { changesOf } from "./changes.ts";
import { kindOf } from "./documents.ts";
import { readKnown } from "./known.ts";
import type { License } from "./license.ts";

/** What came of a text from outside. */
export type Outcome =
  | { readonly kind: "new" | "same"; readonly license: License }
  | { readonly kind: "renewed"; readonly license: License; readonly changes: readonly string[] }
  | { readonly kind: "refused"; readonly code: string; readonly message: string }
  | Offered
  | { readonly kind: "trusted"; readonly vendor: VendorReply }
  | { readonly kind: "misplaced"; readonly message: string };

/** Installs a license; shows what a trust file says; tells what else it is. */
export async function takeIn(text: string): Promise<Outcome> {
  const kind = kindOf(text);
  try {
    if (kind === "trust") return await lookAtTrust(text);
    // What is no document of ours at all, the server says best.
    if (kind === null || kind === "license") return await install(text);
  } catch (error) {
    if (!(error instanceof Refused) || error.status === 0) throw error;
    return { kind: "refused", code: error.code, message: error.message };
  }
  return { kind: "misplaced", message: misplaced[kind] };
}

async function install(document: string): Promise<Outcome> {
  const before = await present();
  const license = await done(v4.license.upload.post({ license: document }));
  return comparedWith(before, license);
}

/** What is installed, with the serials that tell a renewal from the same file again. */
export interface Present {
  readonly licenses: readonly License[];
  readonly serials: ReadonlyMap<number, number>;
}

export async function present(): Promise<Present> {
  const [licenses, status] = await Promise.all([
    done(admin.licenses.get()),
    done(admin.status.get()),
  ]);
  const serials = status.licenses.map(({ license_id, serial }) => [license_id, serial] as const);
  return { licenses, serials: new Map(serials) };
}

export async function comparedWith(before: Present, license: License): Promise<Outcome> {
  void readKnown();
  const old = before.licenses.find(({ id }) => id === license.id);
  if (old === undefined) return { kind: "new", license };
  const { serials } = await present();
  return serials.get(license.id) === before.serials.get(license.id)
    ? { kind: "same", license }
    : { kind: "renewed", license, changes: changesOf(old, license) };
}
