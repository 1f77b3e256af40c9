// The store of the baseline `memory`: replaces src/store/store.ts when that server is compiled. It
// decides and applies commands like the product, but writes nothing: no journal line, no sync.
import type { Command, OutcomeOf } from "../../src/domain/decide.ts";
import { ok, type Result } from "../../src/domain/result.ts";
import type { RuleContext } from "../../src/domain/model/rule-context.ts";
import type { State } from "../../src/domain/model/state.ts";
import { latest } from "../../src/domain/time.ts";
import { transact } from "../../src/domain/transact.ts";
import { AuditHealth } from "../../src/store/audit/audit-health.ts";
import type { StoreHealth } from "../../src/store/store-health.ts";
import { openFolder, type OpenedFolder } from "../../src/store/folder/folder.ts";
import type { ChainHead } from "../../src/store/journal/journal.ts";
import type { DecidedChange, StoreStatus, StoreOptions } from "../../src/store/store-options.ts";
import type { Store as DurableStore } from "../../src/store/store.ts";

type StoreMember =
  "transact" | "decide" | "read" | "peek" | "status" | "health" | "auditHealth" | "close";

export class Store implements Pick<DurableStore, StoreMember> {
  readonly auditHealth = new AuditHealth("/srv/berth");
  readonly #options: StoreOptions;
  readonly #lock: OpenedFolder["lock"];
  readonly #state: State;
  readonly #head: ChainHead;

  static async open(options: StoreOptions): Promise<Store> {
    const { disk, folder, kind, create, clock, recognize = () => {} } = options;
    const uid = process.getuid?.() ?? 0;
    const identify = options.identify ?? (async () => "");
    const identity = { identify, recognize };
    const opened = await openFolder({ disk, folder, kind, create, uid, now: clock, ...identity });
    return new Store(options, opened);
  }

  private constructor(options: StoreOptions, { lock, state, head }: OpenedFolder) {
    this.#options = options;
    this.#lock = lock;
    this.#state = state;
    this.#head = head;
  }

  transact<C extends Command, T>(
    command: C | ((head: ChainHead) => C),
    view: (state: State, outcome: OutcomeOf<C>, context: RuleContext) => T,
  ): DecidedChange<T>["pendingResult"] {
    return this.decide(command, view).pendingResult;
  }

  decide<C extends Command, T>(
    command: C | ((head: ChainHead) => C),
    view: (state: State, outcome: OutcomeOf<C>, context: RuleContext) => T,
  ): DecidedChange<T> {
    const context = this.#now();
    const resolved = typeof command === "function" ? command(this.#head) : command;
    const result = transact(this.#state, resolved, context);
    const answer = result.ok ? ok(view(this.#state, result.value.outcome, context)) : result;
    return {
      at: context.at,
      seq: this.#head.seq,
      fault: result.ok ? null : result.fault,
      pendingResult: Promise.resolve(answer),
    };
  }

  async read<T>(view: (state: State, context: RuleContext) => T): Promise<Result<T, never>> {
    return ok(view(this.#state, this.#now()));
  }

  peek<T>(view: (state: State) => T): T {
    return view(this.#state);
  }

  status(): StoreStatus {
    const { seq, sum, auditSeq } = this.#head;
    return {
      fault: null,
      folderChange: null,
      notes: [],
      checkpointError: null,
      isStateMissing: false,
      followProblem: null,
      appendError: null,
      seq,
      head: { seq, sum },
      coveredSeq: 0,
      auditSeq,
      journalBytes: 0,
    };
  }

  health(): StoreHealth {
    return { warnings: [], freeBytes: null, requiredBytes: 0, slowestSyncMs: 0 };
  }

  async close(): Promise<void> {
    this.#lock.release();
  }

  #now(): RuleContext {
    const { clock, behind, isBound = () => true, caps } = this.#options;
    const { latestEventAt, clockJumps } = this.#state;
    const at = latest(clock(latestEventAt, clockJumps), latestEventAt);
    const slotCaps = caps?.() ?? { perUser: null, perPeer: null };
    return { at, clockBehind: behind?.(at) ?? 0, isSignedForThisMachine: isBound, slotCaps };
  }
}
