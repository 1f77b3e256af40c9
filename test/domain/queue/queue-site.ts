// A site in memory whose commands run one after the other, with the time and the settings as a test
// sets them.
import type { Command, OutcomeOf } from "../../../src/domain/decide.ts";
import type { Event } from "../../../src/domain/model/event.ts";
import type { Fault } from "../../../src/domain/model/fault.ts";
import type { QueueChange } from "../../../src/domain/queue/dispatch/dispatch.ts";
import type { Result } from "../../../src/domain/result.ts";
import type { RuleContext } from "../../../src/domain/model/rule-context.ts";
import type { State } from "../../../src/domain/model/state.ts";
import { MINUTE, later, type Instant } from "../../../src/domain/time.ts";
import { transact, type TransactionResult } from "../../../src/domain/transact.ts";
import { emptyAuditLogEnd } from "../../../src/store/state/snapshot.ts";
import { decodeSnapshot, encodeSnapshot } from "../../../src/store/state/state-rows.ts";
import { makeNewSite } from "../../support/new-site.ts";
import { contextAt } from "../../support/rule-context.ts";
import { dispatch, takePlace } from "../../support/queue-commands.ts";
import { MONDAY, register } from "../../support/scenario.ts";

/** More changes than any test causes: a dispatch that never ends must fail. */
const MAX_CHANGES = 100_000;

export class QueueSite {
  state: State = makeNewSite();
  readonly events: Event[] = [];
  at: Instant = MONDAY;
  settings: Partial<RuleContext> = {};

  get context(): RuleContext {
    return contextAt(this.at, this.settings);
  }

  wait(minutes: number): void {
    this.at = later(this.at, minutes * MINUTE);
  }

  /** Goes on with the state as it is read from disk. */
  restart(): void {
    const head = { seq: 0, sum: "", auditSeq: 0, auditSum: "" };
    const saved = encodeSnapshot(this.state, head, emptyAuditLogEnd);
    this.state = decodeSnapshot(structuredClone(saved));
  }

  attempt<C extends Command>(command: C): Result<TransactionResult<OutcomeOf<C>>, Fault> {
    const result = transact(this.state, command, this.context);
    if (result.ok) this.events.push(...result.value.journalLines.flat());
    return result;
  }

  /** Runs a command that must be accepted. */
  run<C extends Command>(command: C): OutcomeOf<C> {
    const result = this.attempt(command);
    if (!result.ok) throw new Error(`refused: ${JSON.stringify(result.fault)}`);
    return result.value.outcome;
  }

  /** The events of a command's own line. */
  record(command: Command): readonly Event[] {
    const result = this.attempt(command);
    if (!result.ok) throw new Error(`refused: ${JSON.stringify(result.fault)}`);
    return result.value.journalLines.at(-1) ?? [];
  }

  /** The code of the refusal; null: the command was accepted. */
  refusal(command: Command): string | null {
    const result = this.attempt(command);
    return result.ok ? null : result.fault.code;
  }

  /** Serves the queue until nothing changes. */
  dispatch(product = "cad", lapsed: readonly string[] = []): QueueChange[] {
    const changes: QueueChange[] = [];
    while (changes.length < MAX_CHANGES) {
      const { change } = this.run(dispatch(product, lapsed));
      if (change === null) return changes;
      if (change.kind !== "parked") changes.push(change);
    }
    throw new Error("the dispatch does not end");
  }

  /** The users to whom a dispatch gives holds, in this order. */
  serve(product = "cad"): string[] {
    return this.dispatch(product)
      .filter(({ kind }) => kind === "held")
      .map(({ user }) => user);
  }

  hold(...users: readonly string[]): void {
    for (const user of users) this.run(register(user));
  }

  queue(...users: readonly string[]): void {
    for (const user of users) this.run(takePlace(user));
  }

  /** The users in the order of service; those with a held slot are left out. */
  line(product = "cad"): string[] {
    return [...(this.state.queues.get(product)?.line ?? [])].map(({ user }) => user);
  }

  holdsOf(product = "cad"): string[] {
    return [...(this.state.queues.get(product)?.places ?? [])]
      .filter(({ hold }) => hold !== null)
      .map(({ user }) => user);
  }
}
