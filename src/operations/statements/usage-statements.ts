import type { AcknowledgementOutcome } from "../../domain/statements/acknowledge-statement.ts";
import { findLastStatement } from "../../domain/statements/make-statement.ts";
import {
  findReportableEnd,
  listStatementStatus,
  type StatementStatus,
} from "../../domain/statements/statement-status.ts";
import type { Fault } from "../../domain/model/fault.ts";
import { err, ok, type Result } from "../../domain/result.ts";
import type { State } from "../../domain/model/state.ts";
import type { StoredStatement } from "../../domain/model/statements/statement-chain.ts";
import { countDays, type Instant } from "../../domain/time.ts";
import type { LicenseFileFault } from "../../faults/fault-types.ts";
import { verifyAcknowledgement } from "../../license/documents/acknowledgement.ts";
import { signingKeyOf } from "../../license/documents/trust.ts";
import { TaskQueue } from "../../platform/schedule/task-queue.ts";
import { sha256 } from "../../platform/crypto/hash.ts";
import type { StorageFault } from "../../store/journal/storage-fault.ts";
import type { ChainHead } from "../../store/journal/journal.ts";
import type { Store } from "../../store/store.ts";
import type { DayRange } from "../../usage/statement/statement-figures.ts";
import { flattenResult, passOutcome } from "../command-runner.ts";
import type { Identity } from "../appliance/identity.ts";
import { buildUsageStatement, type StatementBasis } from "./build-usage-statement.ts";
import type { HistoryFault, HistoryProcess } from "../usage/history-process.ts";
import { openHistory } from "../usage/site-history.ts";
import {
  computeStatementUsage,
  USUAL_DAYS,
  type StatementRequest,
  type StatementUsage,
} from "./statement-usage.ts";
import { signUsageStatement } from "../../license/documents/usage-statement.ts";

type StatementResult<T> = Promise<
  Result<T, Fault | StorageFault | LicenseFileFault | HistoryFault>
>;

/** A statement and its vendor. */
export interface VendorStatement {
  readonly vendor: string;
  readonly statement: StoredStatement;
}

export interface RequestedStatement extends VendorStatement {
  /** False: no whole day has passed since, and it is the last one again. */
  readonly isNew: boolean;
  /** Whole days that are not covered yet. */
  readonly unreportedDays: number;
}

export interface AcknowledgedStatementView extends AcknowledgementOutcome {
  readonly vendor: string;
}

/** Makes usage statements for vendors, and receives what they acknowledge. */
export class UsageStatements {
  readonly #store: Store;
  readonly #identity: Identity;
  readonly #process: HistoryProcess | null;
  readonly #queue = new TaskQueue();

  /** `process`: null to compute in this one. */
  constructor(store: Store, identity: Identity, process: HistoryProcess | null = null) {
    this.#store = store;
    this.#identity = identity;
    this.#process = process;
  }

  list(): Promise<Result<StatementStatus[], StorageFault>> {
    return this.#store.read((state, { at }) => listStatementStatus(state, at));
  }

  /**
   * Makes the next statement for a vendor, or returns the last one again if no whole day has passed
   * since. It is on disk before it is returned. Null: the only vendor.
   */
  async make(vendorName: string | null, peer: string): StatementResult<RequestedStatement> {
    const vendor = await this.#findVendor(vendorName);
    if (!vendor.ok) return vendor;
    // One after the other: each statement continues the one before.
    return this.#queue.runTask(() => this.#makeNext(vendor.value, peer));
  }

  /** A statement that is kept; null: the last one. */
  async find(vendorName: string | null, number: number | null): StatementResult<VendorStatement> {
    const vendor = await this.#findVendor(vendorName);
    if (!vendor.ok) return vendor;
    return flattenResult(
      await this.#store.read((state): Result<VendorStatement, Fault> => {
        const chain = state.statementChains.get(vendor.value)?.statements ?? [];
        const statement = number === null ? chain.at(-1) : chain.find(({ n }) => n === number);
        return statement === undefined
          ? err({ code: "statement_not_found" })
          : ok({ vendor: vendor.value, statement });
      }),
    );
  }

  /** Records that a vendor has a statement and all before it. */
  async acknowledge(document: string, peer: string): StatementResult<AcknowledgedStatementView> {
    const snapshot = await this.#store.read((state) => ({
      vendors: [...state.vendors.values()],
    }));
    if (!snapshot.ok) return snapshot;
    const verified = await verifyAcknowledgement(document.trim(), snapshot.value.vendors);
    if (!verified.ok) {
      return verified.fault.wrong === "signer"
        ? err({ code: "acknowledgement_foreign", appliances: null })
        : err({ code: "invalid_license_file", problem: verified.fault });
    }
    const { iss: vendor, appliance, n, digest } = verified.value.ack;
    const signer = signingKeyOf(verified.value.signer);
    if (appliance !== this.#identity.id) {
      const appliances = { signed: appliance, here: this.#identity.id };
      return err({ code: "acknowledgement_foreign", appliances });
    }
    const command = { type: "AcknowledgeStatement", vendor, n, digest, signer, peer } as const;
    return this.#store.transact(command, (_state, outcome) => ({ vendor, ...outcome }));
  }

  /** A vendor by its id or name; null: the only one that has licenses here. */
  async #findVendor(name: string | null): Promise<Result<string, Fault | StorageFault>> {
    const listed = await this.list();
    if (!listed.ok) return listed;
    if (name === null) {
      const [only, ...others] = listed.value;
      if (others.length > 0) return err({ code: "missing_parameters", fields: ["vendor"] });
      return only === undefined ? err({ code: "statement_not_due", since: null }) : ok(only.vendor);
    }
    const byId = listed.value.find(({ vendor }) => vendor === name);
    const byName = listed.value.filter((entry) => entry.name === name);
    const [found] = byId === undefined && byName.length === 1 ? byName : [byId];
    if (found !== undefined) return ok(found.vendor);
    const trusted = await this.#store.read(({ vendors }) =>
      [...vendors.values()].some((entry) => entry.vendor === name || entry.name === name),
    );
    if (!trusted.ok) return trusted;
    return err(
      trusted.value ? { code: "statement_not_due", since: null } : { code: "unknown_vendor" },
    );
  }

  async #makeNext(vendor: string, peer: string): StatementResult<RequestedStatement> {
    const head = await this.#settleExpiries(vendor);
    if (!head.ok) return head;
    const read = await this.#store.read((state, { at }) => describeBasis(state, vendor, at));
    if (!read.ok) return read;
    const { last, end, ...basis } = read.value;
    if (last !== null && last.to >= end)
      return ok({ vendor, statement: last, isNew: false, unreportedDays: 0 });
    const { auditSeq, auditSum } = head.value;
    const position = {
      n: (last?.n ?? 0) + 1,
      previous: last?.digest ?? null,
      auditFrom: (last?.auditTo ?? 0) + 1,
      auditTo: auditSeq,
      auditSum,
    };
    const wanted = { vendor, next: last?.to ?? null, end, maxDays: USUAL_DAYS };
    const signed = await this.#sign({ ...basis, ...position, vendor }, wanted);
    if (!signed.ok) return signed;
    const { document, range } = signed.value;
    const statement = { ...position, ...range, digest: sha256(document), document };
    const stored = await this.#store.transact(
      { type: "MakeStatement", vendor, statement, peer },
      passOutcome,
    );
    if (!stored.ok) return stored;
    const unreportedDays = countDays(range.to, end);
    return ok({ vendor, statement: stored.value, isNew: true, unreportedDays });
  }

  /** Writes all expiries that are due. Returns the position of the audit log after them. */
  async #settleExpiries(vendor: string): Promise<Result<ChainHead, Fault | StorageFault>> {
    for (;;) {
      let position: ChainHead | null = null;
      const settled = await this.#store.transact((head) => {
        position = head;
        return { type: "SettleExpiries" as const, vendor };
      }, passOutcome);
      if (!settled.ok) return settled;
      if (settled.value.isDone && position !== null) return ok(position);
    }
  }

  /** Covers fewer days if they do not fit into a document. */
  async #sign(
    basis: StatementBasis,
    wanted: StatementRequest,
  ): StatementResult<{ readonly document: string; readonly range: DayRange }> {
    const usage = await this.#computeUsage(wanted);
    if (!usage.ok) return usage;
    const { from, covered } = usage.value;
    if (covered === null) return err({ code: "statement_not_due", since: from });
    const { range, figures } = covered;
    const content = buildUsageStatement(this.#identity, basis, range, figures);
    const document = await signUsageStatement(content, this.#identity.key);
    if (document !== null) return ok({ document, range });
    const maxDays = Math.floor(countDays(range.from, range.to) / 2);
    if (maxDays === 0) return err({ code: "statement_too_large", day: range.from });
    return this.#sign(basis, { ...wanted, maxDays });
  }

  async #computeUsage(wanted: StatementRequest): StatementResult<StatementUsage> {
    if (this.#process?.isNeeded() !== true)
      return computeStatementUsage(openHistory(this.#store), wanted);
    const options = { isCompressed: false, signal: null };
    const reply = await this.#process.reply({ type: "statement", wanted }, options);
    if (!reply.ok) return reply;
    return ok(JSON.parse(new TextDecoder().decode(reply.value)) as StatementUsage);
  }
}

/** A copy of what a statement needs of the state. */
function describeBasis(state: State, vendor: string, now: Instant) {
  const serials = new Map<number, number>();
  for (const { license, serial } of state.tombstones.values()) serials.set(license, serial);
  for (const { id, grant } of state.licenses.values()) serials.set(id, grant.serial);
  return {
    last: findLastStatement(state, vendor),
    end: findReportableEnd(now),
    now,
    serials,
    restores: [...state.restores],
  };
}
