import type { Result } from "../../domain/result.ts";
import type { AuditLogDamagedFault, MaintenanceFault } from "../../faults/fault-types.ts";
import type { StatementRequest } from "../statements/statement-usage.ts";
import type { WantedReport, ReportFault } from "./reports.ts";
import type { WhatIfRequest } from "../../usage/what-if/compute-what-if.ts";

/** What is computed from the whole history of a site. */
export type HistoryRequest =
  | { readonly type: "report"; readonly wanted: WantedReport }
  | { readonly type: "what-if"; readonly wanted: WhatIfRequest }
  | { readonly type: "statement"; readonly wanted: StatementRequest };

export type HistoryFault = ReportFault | AuditLogDamagedFault | MaintenanceFault;

export interface HistoryReplyOptions {
  /** Whether the reply is compressed with gzip. */
  readonly isCompressed: boolean;
  /** Cancels the work; null: nobody does. */
  readonly signal: AbortSignal | null;
}

/** How far the work is that is under way. */
export interface HistoryProgress {
  /** Between 0 and 1: how much of the audit log was read. */
  readonly share: number;
  /** How many others wait. */
  readonly waiting: number;
}

/**
 * Computes replies from the files of the folder in a process of its own, one at a time: work over
 * the history of a large site would hold up all other requests.
 */
export interface HistoryProcess {
  /** False: the history is so short that the server itself takes less time than the process. */
  readonly isNeeded: () => boolean;
  /** The JSON text of the reply. */
  readonly reply: (
    request: HistoryRequest,
    options: HistoryReplyOptions,
  ) => Promise<Result<Uint8Array<ArrayBuffer>, HistoryFault>>;
  /** Null: nothing is under way. */
  readonly progress: () => HistoryProgress | null;
  /** Cancels all work, now and later. */
  readonly stop: () => void;
}
