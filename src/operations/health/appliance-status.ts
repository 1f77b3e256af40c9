import type { RefusalTotal } from "../../domain/model/demand/refusal-total.ts";
import { findOverReserved } from "../../domain/rules/apply-rules.ts";
import type { State } from "../../domain/model/state.ts";
import {
  listStatementStatus,
  type StatementStatus,
} from "../../domain/statements/statement-status.ts";
import type { Instant } from "../../domain/time.ts";
import {
  summarizeRules,
  viewLicense,
  type LicenseView,
  type RulesSummary,
} from "../../domain/views/views.ts";
import type { StoreHealth as StorageHealth } from "../../store/store-health.ts";
import type { StoreStatus } from "../../store/store-options.ts";
import type { Store } from "../../store/store.ts";
import type { SharingFacts } from "./sharing-rules.ts";
import type { OperationResult } from "../command-runner.ts";
import { collectTrustFacts, type TrustFacts } from "./trust.ts";

export { isDiskFault } from "../../store/journal/storage-fault.ts";
export type { StorageHealth };

/** Whether changes are accepted, and what is known about the journal and the checkpoints. */
export type StorageStatus = StoreStatus;

export interface ApplianceOverview {
  readonly kind: State["kind"];
  readonly now: Instant;
  readonly createdAt: Instant;
  readonly storeStatus: StorageStatus;
  readonly auditGaps: State["auditGaps"];
  readonly licenses: readonly LicenseView[];
  /** Usage statements, by vendor. */
  readonly statements: readonly StatementStatus[];
  readonly trust: TrustFacts;
  /** The site's rules, and what no longer fits them. */
  readonly sharing: SharingFacts;
  readonly refusals: readonly RefusalTotal[];
  /** Null: there are no rules of sharing. */
  readonly rules: RulesSummary | null;
}

/** What operators see of the appliance: its state, and how its data folder is. */
export class ApplianceStatus {
  /** The data folder. */
  readonly folder: string;
  readonly #store: Store;

  constructor(store: Store, folder: string) {
    this.#store = store;
    this.folder = folder;
  }

  read(): OperationResult<ApplianceOverview> {
    return this.#store.read((state, context) => ({
      kind: state.kind,
      now: context.at,
      createdAt: state.createdAt,
      storeStatus: this.storageStatus(),
      auditGaps: state.auditGaps,
      licenses: [...state.licenses.values()].map((license) => viewLicense(state, license, context)),
      statements: listStatementStatus(state, context.at),
      trust: collectTrustFacts(state),
      sharing: {
        rules: state.rules?.rules ?? null,
        overReserved: state.rules === null ? [] : findOverReserved(state, state.rules.rules),
      },
      refusals: [...state.refusals.values()].toSorted((a, b) => b.count - a.count),
      rules: summarizeRules(state, context.at),
    }));
  }

  storageStatus(): StorageStatus {
    return this.#store.status();
  }

  /** The problems that do not stop the server yet, free space, and the slowest sync. */
  storageHealth(): StorageHealth {
    return this.#store.health();
  }
}
