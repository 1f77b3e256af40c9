// The rules of Berth, driven as the operations drive them: a dispatch before each claim and after
// each change, and a recall after a refusal that names one.
import type { Command, OutcomeOf } from "../../src/domain/decide.ts";
import type { Event } from "../../src/domain/model/event.ts";
import { evolve } from "../../src/domain/evolve/evolve.ts";
import type { Fault } from "../../src/domain/model/fault.ts";
import type { MutableState } from "../../src/domain/evolve/mutable-state.ts";
import { viewPlace, viewQueue } from "../../src/domain/views/queue-view.ts";
import type { Result } from "../../src/domain/result.ts";
import type { SlotCaps } from "../../src/domain/model/rule-context.ts";
import type { CallerFacts } from "../../src/domain/model/rules/caller-facts.ts";
import type { State } from "../../src/domain/model/state.ts";
import type { Instant } from "../../src/domain/time.ts";
import { transact } from "../../src/domain/transact.ts";
import { genesisHead } from "../../src/store/journal/journal.ts";
import { decodeSnapshot, encodeSnapshot } from "../../src/store/state/state-rows.ts";
import { emptyAuditLogEnd, type Snapshot } from "../../src/store/state/snapshot.ts";
import type { ModelRecall } from "./model-use.ts";
import { makeNewSite } from "../support/new-site.ts";
import { contextAt } from "../support/rule-context.ts";
import { makeContact } from "../support/contact.ts";

/** A slot as the state has it. */
export interface RealHolder {
  readonly license: number;
  readonly feature: string | null;
  readonly user: string;
  readonly slot: number;
  readonly peer: string;
  readonly end: Instant;
  readonly timeoutAt: Instant;
  readonly borrowedUntil: Instant | null;
}

export class RealSite {
  state: State = makeNewSite();
  slotCaps: SlotCaps = { perUser: null, perPeer: null };
  /** What a restart reads: a snapshot, and the events after it. */
  #base = this.#takeSnapshot();
  #journal: Event[] = [];

  run<C extends Command>(command: C, at: Instant): Result<OutcomeOf<C>, Fault> {
    const result = transact(this.state, command, contextAt(at, { slotCaps: this.slotCaps }));
    if (!result.ok) return result;
    this.#journal.push(...result.value.journalLines.flat());
    return { ok: true, value: result.value.outcome };
  }

  /** As the operations do: one change per command, until nothing is left to do. */
  dispatch(product: string, lapsed: readonly string[], at: Instant): void {
    for (let count = 0; count < 1_000; count += 1) {
      const result = this.run({ type: "Dispatch", product, lapsed }, at);
      if (result.ok && result.value.change === null) return;
    }
    throw new Error("a dispatch does not end");
  }

  /** The waiting users as an operator sees them; each of them sees the same position. */
  listByService(product: string, at: Instant): readonly string[] {
    const context = contextAt(at, { slotCaps: this.slotCaps });
    const places = viewQueue(this.state, product, context)?.places ?? [];
    const users = places.filter(({ hold }) => hold === null).map(({ user }) => user);
    for (const [index, user] of users.entries()) {
      const position = viewPlace(this.state, product, user, context)?.place.position;
      if (position !== index + 1) throw new Error(`${user} is ${index + 1}, but sees ${position}`);
    }
    return users;
  }

  #takeSnapshot(): string {
    return JSON.stringify(encodeSnapshot(this.state, genesisHead, emptyAuditLogEnd));
  }

  restart(by: "snapshot" | "replay"): void {
    if (by === "snapshot") {
      this.#base = this.#takeSnapshot();
      this.#journal = [];
    }
    const state = decodeSnapshot(JSON.parse(this.#base) as Snapshot) as MutableState;
    // A journal is text: what JSON cannot hold must not matter.
    const events = JSON.parse(JSON.stringify(this.#journal)) as Event[];
    for (const event of events) evolve(state, event);
    this.state = state;
  }

  listRecalls(): ModelRecall[] {
    return [...this.state.recalls.values()].map((recall) => ({ ...recall }));
  }

  listHolders(): readonly RealHolder[] {
    const holders: RealHolder[] = [];
    for (const { id: license, pool, features } of this.state.licenses.values()) {
      for (const { user, slot, end, borrowedUntil, contact } of pool.inSlotOrder()) {
        const fields = { license, feature: null, user, slot, end, peer: contact.peer };
        holders.push({ ...fields, timeoutAt: end, borrowedUntil });
      }
      for (const [feature, { pool: slots }] of features) {
        for (const { user, slot, end, timeoutAt } of slots.inSlotOrder()) {
          const fields = { license, feature, user, slot, end, peer: "" };
          holders.push({ ...fields, timeoutAt, borrowedUntil: null });
        }
      }
    }
    return holders;
  }
}

/** The reason of a refusal, as the model names it. */
export function nameReason(fault: Fault): string {
  if (fault.code === "not_allowed_by_rules") return `${fault.code} ${fault.rule}`;
  if (fault.code !== "slots_capped") return fault.code;
  if (!("rule" in fault)) return `${fault.code} setting`;
  const { kind, name } = fault.rule;
  return kind === "group" ? `slots_capped group ${name}` : `slots_capped ${kind}`;
}

/** The fields of a claim. */
export const toCommandFields = (facts: CallerFacts) => ({
  user: facts.user,
  identity: facts.login === null ? null : { login: facts.login, certificate: facts.certificate },
  contact: makeContact({ hostname: facts.host, ip: facts.address, peer: facts.address }),
});
