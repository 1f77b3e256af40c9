import type { HashedComponent } from "../../license/documents/hardware.ts";
import type { PublicKey } from "../../license/documents/keys.ts";
import type { TermsDocument } from "../../license/terms/terms.ts";

/** An issued license, with everything needed to renew it without a request. */
export interface IssuedEntry {
  readonly type: "issued";
  readonly at: string;
  readonly by?: string;
  /** The id of the issuing key. */
  readonly key: string;
  readonly license_id: number;
  readonly serial: number;
  readonly appliance: string;
  /** Null for a license by confirmation code. */
  readonly jwk: PublicKey | null;
  readonly hardware_id: string;
  /** The hardware ids of two hosts; absent: the license is for one. */
  readonly hosts?: readonly string[];
  /** The components of each host, hashed by the site; absent for a license by code. */
  readonly hardware?: readonly (readonly HashedComponent[])[];
  /** How it uses its order; absent: it was issued without an order. */
  readonly use?: OrderUse;
  /** Consumption that the order sells and these terms lack: earlier holders used it; absent: 0. */
  readonly used_before?: number;
  readonly request_id: string | null;
  /** The site's initialization code, if the confirmation code is for one. */
  readonly initialization_code?: string;
  readonly policy_hash?: string;
  readonly terms: TermsDocument;
  readonly document: string;
}

/**
 * `take`: the first license at a place of the order. `move`: the place was another appliance's, or
 * the hardware or the hosts are others. `renewal`: everything else.
 */
export type OrderUse = "take" | "renewal" | "move";

/** A license at one appliance. A license by code keeps its id at another one. */
export type LicenseAtAppliance = Pick<IssuedEntry, "license_id" | "appliance">;

/** To group and to look up by both ids. */
export const licenseAtAppliance = ({ license_id, appliance }: LicenseAtAppliance): string =>
  `${license_id} ${appliance}`;

/** The total consumption of one license. */
export interface ConsumptionTotal {
  readonly license_id: number;
  readonly total: number;
}

/** The state of an appliance's audit log and totals in one of its requests. */
export interface SeenEntry {
  readonly type: "seen";
  readonly at: string;
  readonly appliance: string;
  readonly request_id: string;
  /** When the site created the request, by its own clock. */
  readonly created_at: string;
  readonly audit_seq: number;
  readonly sum: string;
  /** Earlier requests of the site that no `seen` line since the last fork has; absent: none. */
  readonly heads?: readonly SeenHead[];
  /** Consumption of this vendor's licenses at that time. */
  readonly totals: readonly ConsumptionTotal[];
  /** Lineages of the restores that the request lists; absent: none. */
  readonly restores?: readonly string[];
  /** Licenses that were restored on other hardware, with a grace period; absent: none. */
  readonly grace?: readonly SeenGrace[];
  /** The pair that the request describes; absent: the request is for one host. */
  readonly pair?: SeenPair;
}

/** The state of the audit log right before a request. */
export interface SeenHead {
  readonly request_id: string;
  readonly audit_seq: number;
  readonly sum: string;
}

export interface SeenGrace {
  readonly license_id: number;
  readonly serial: number;
  /** Of the restore. */
  readonly lineage: string;
  readonly at: string;
}

/** A pair as one of its requests described it. */
export interface SeenPair {
  readonly log: string;
  readonly epoch: number;
  readonly leader: string;
  readonly hosts: readonly SeenHost[];
}

export interface SeenHost {
  readonly name: string;
  readonly hardware_id: string;
  /** The last line of its journal, and when the host reported it; null: it reported none. */
  readonly head: { readonly seq: number; readonly sum: string; readonly at: string } | null;
}

/**
 * The vendor accepted a request although it did not continue the site's audit log. Its `seen` line
 * follows; later requests are compared with that one, and no longer with earlier ones.
 */
export interface ForkEntry {
  readonly type: "forked";
  readonly at: string;
  readonly appliance: string;
  readonly request_id: string;
  readonly reason: string;
  /** What shows that a pair was split; absent: nothing does. */
  readonly split?: readonly string[];
}

export interface ReceiptEntry {
  readonly type: "received";
  readonly at: string;
  readonly appliance: string;
  readonly license_id: number;
  readonly serial: number;
  readonly total_consumptions: number;
  /** Slots that were still borrowed. */
  readonly borrows: number;
  /** When the site returned the license, by its own clock. */
  readonly removed_at: string;
}

/** A trust document that the desk accepted from the root. */
export interface TrustEntry {
  readonly type: "trust";
  readonly at: string;
  readonly version: number;
  readonly products: readonly string[];
  readonly retired: readonly string[];
  /** The document, to write its file again if that is lost. */
  readonly document: string;
}

/** From here on, the desk signs with this key. */
export interface KeyEntry {
  readonly type: "key";
  readonly at: string;
  /** The key's id. */
  readonly key: string;
  readonly until: string;
  /** The root's certificate. */
  readonly cert: string;
}

/** A signed policy. */
export interface PolicyEntry {
  readonly type: "policy";
  readonly at: string;
  /** The id of the issuing key. */
  readonly key: string;
  readonly policy_id: string;
  readonly terms: TermsDocument;
  readonly document: string;
}

/** A site's usage statement, and the answer to it. */
export interface StatementEntry {
  readonly type: "statement";
  readonly at: string;
  readonly appliance: string;
  readonly n: number;
  /** SHA-256 of the document. */
  readonly digest: string;
  readonly from: string;
  /** The day after the last one. */
  readonly to: string;
  readonly audit: { readonly from: number; readonly to: number; readonly sum: string };
  /** Lineages of the restores and moves that the statement lists; absent: none. */
  readonly restores?: readonly string[];
  /** Why it was accepted although it does not continue the statement before; absent: it does. */
  readonly accepted_fork?: string;
  /** Where the statement and its answer are. */
  readonly stored: StoredLine;
}

/** A line of `statements.jsonl`, without its line feed. */
export interface StoredLine {
  /** The offset of its first byte. */
  readonly from: number;
  readonly length: number;
  /** SHA-256. */
  readonly sum: string;
}

/** A customer, or its new name. */
export interface CustomerEntry {
  readonly type: "customer";
  readonly at: string;
  readonly customer: string;
  readonly name: string;
}

/** From here on, the orders of the first customer are those of the second. */
export interface CustomerMergedEntry {
  readonly type: "customer-merged";
  readonly at: string;
  readonly customer: string;
  readonly into: string;
}

/** What was sold under a license key. A later line with the same key replaces it as a whole. */
export interface OrderEntry {
  readonly type: "order";
  readonly at: string;
  readonly by?: string;
  readonly license_key: string;
  /** Whether the desk made the key. One that the vendor chose can be guessed. */
  readonly is_own_key: boolean;
  readonly customer: string;
  /** Without license key and customer: an issued license has those of the order. */
  readonly terms: TermsDocument;
  readonly appliances: number;
  readonly hosts: 1 | 2;
  readonly allow_weak_binding: boolean;
  /** In any 365 days. */
  readonly moves: number;
  /** The policy whose codes may be confirmed; absent: the order is served by file alone. */
  readonly policy_id?: string;
  /** Licenses of the order that were issued without its key; absent: none. */
  readonly adopted?: readonly { readonly license_id: number; readonly appliance: string }[];
}

/** The order was a mistake: nothing more is issued under its key. */
export interface OrderClosedEntry {
  readonly type: "order-closed";
  readonly at: string;
  readonly license_key: string;
  readonly reason: string;
}

/** The machine of a license was lost; its place went to another appliance. */
export interface WrittenOffEntry {
  readonly type: "written-off";
  readonly at: string;
  readonly appliance: string;
  readonly license_id: number;
  /** The newest serial at that time. */
  readonly serial: number;
  readonly license_key: string | null;
  /** The request of the appliance that follows. */
  readonly request_id: string;
  readonly reason: string;
}

/** The ledger lacks what was issued: until this ends, only holders are answered automatically. */
export interface RestoredEntry {
  readonly type: "restored";
  readonly at: string;
  readonly cause: string;
  /** The license that a site has and the ledger lacks; absent: something else is the cause. */
  readonly license?: {
    readonly appliance: string;
    readonly license_id: number;
    readonly serial: number;
  };
}

export interface RestoredEndedEntry {
  readonly type: "restored-ended";
  readonly at: string;
  readonly reason: string;
}

export type LedgerEntry = Written &
  (
    | IssuedEntry
    | SeenEntry
    | ForkEntry
    | ReceiptEntry
    | TrustEntry
    | KeyEntry
    | PolicyEntry
    | StatementEntry
    | CustomerEntry
    | CustomerMergedEntry
    | OrderEntry
    | OrderClosedEntry
    | WrittenOffEntry
    | RestoredEntry
    | RestoredEndedEntry
  );

interface Written {
  /** Who ran the command, as account@machine; the ledger adds it. */
  readonly by?: string;
}
