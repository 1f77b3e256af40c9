import { describe, expect, test } from "bun:test";
import type { Command } from "../../../src/domain/decide.ts";
import { limits } from "../../../src/domain/model/limits.ts";
import type { State } from "../../../src/domain/model/state.ts";
import type { AcknowledgeStatement } from "../../../src/domain/statements/acknowledge-statement.ts";
import type { StoredStatement } from "../../../src/domain/model/statements/statement-chain.ts";
import { DAY, HOUR, later } from "../../../src/domain/time.ts";
import { transact } from "../../../src/domain/transact.ts";
import { genesisHead } from "../../../src/store/journal/journal.ts";
import { emptyAuditLogEnd, getSnapshotCheck } from "../../../src/store/state/snapshot.ts";
import { decodeSnapshot, encodeSnapshot } from "../../../src/store/state/state-rows.ts";
import { SIGNER, VENDOR, makeNewSite } from "../../support/new-site.ts";
import { contextAt } from "../../support/rule-context.ts";
import {
  dumpState,
  featureTerms,
  given,
  hoursLater,
  licenseInstalled,
  MONDAY,
  register,
  registerFeature,
  slotTaken,
} from "../../support/scenario.ts";
import { nextStatement } from "../../support/statements.ts";

const { vendor } = VENDOR;
const PEER = "10.0.0.1";

const makeStatement = (statement: Omit<StoredStatement, "at">): Command => ({
  type: "MakeStatement",
  vendor,
  statement,
  peer: PEER,
});

const acknowledge = ({ n, digest }: { n: number; digest: string }): Command => ({
  type: "AcknowledgeStatement",
  vendor,
  n,
  digest,
  signer: SIGNER,
  peer: PEER,
});

const first = nextStatement(null, MONDAY, "first");
const second = nextStatement({ ...first, at: MONDAY }, MONDAY, "second");

function run(state: State, ...commands: readonly Command[]): void {
  for (const command of commands) {
    const result = transact(state, command, contextAt(later(MONDAY, 100 * DAY)));
    if (!result.ok) throw new Error(result.fault.code);
  }
}

const chainOf = (state: State) => state.statementChains.get(vendor);

describe("MakeStatement", () => {
  test("records the statement with its document", () => {
    given()
      .at(MONDAY)
      .when(makeStatement(first))
      .records({ type: "StatementMade", vendor, n: 1, document: "first", peer: PEER })
      .answers({ n: 1, at: MONDAY });
  });

  test("continues the statement before", () => {
    const past = given().at(MONDAY).execute(makeStatement(first));
    past.at(MONDAY).when(makeStatement(second)).records({ type: "StatementMade", n: 2 });
  });

  test.each<[string, Partial<StoredStatement>]>([
    ["has another number", { n: 3 }],
    ["names another statement as the one before", { previous: first.digest.replace(/^./, "g") }],
    ["names no statement before", { previous: null }],
    ["leaves out a day", { from: later(second.from, DAY), to: later(second.to, DAY) }],
    ["covers a day twice", { from: first.from }],
    ["leaves out a line of the audit log", { auditFrom: second.auditFrom + 1 }],
    ["covers no day", { to: second.from }],
    ["covers a day that has not ended", { to: later(MONDAY, 1) }],
    ["ends before its first line", { auditTo: second.auditFrom - 2 }],
  ])("is refused if the statement %s", (_, change) => {
    const past = given().at(MONDAY).execute(makeStatement(first));
    past
      .at(MONDAY)
      .when(makeStatement({ ...second, ...change }))
      .refuses({ code: "statement_outdated" });
  });

  test("is refused after the appliance was moved away", () => {
    const past = given().at(MONDAY).execute({ type: "MoveAway", move: "m", peer: PEER });
    past.at(MONDAY).when(makeStatement(first)).refuses({ code: "moved_away", at: MONDAY });
  });
});

describe("AcknowledgeStatement", () => {
  const made = given().at(MONDAY).execute(makeStatement(first), makeStatement(second));

  test("records the acknowledgement of a statement", () => {
    made
      .at(MONDAY)
      .when(acknowledge(second))
      .records({ type: "StatementAcknowledged", n: 2, digest: second.digest })
      .answers({ isNew: true, newest: 2 });
  });

  test("is refused of a retired or ended key, or with a trust document that is too old", () => {
    const of = (signer: Partial<typeof SIGNER>): Command => ({
      ...(acknowledge(second) as AcknowledgeStatement),
      signer: { ...SIGNER, ...signer },
    });
    const { notice: _notice, ...own } = VENDOR;
    const trust = { ...own, version: 2, document: "2", retired: [SIGNER.key] };
    const retired = made.at(MONDAY).execute({ type: "TrustVendor", trust, peer: PEER });
    const [name, end] = [VENDOR.name, MONDAY];
    made
      .at(MONDAY)
      .when(of({ trust: 2 }))
      .refuses({ code: "trust_outdated", vendor: name, version: 2 });
    made
      .at(MONDAY)
      .when(of({ until: MONDAY / 1_000 }))
      .refuses({ code: "key_ended", vendor: name, end, at: end });
    retired.at(MONDAY).when(of({})).refuses({ code: "retired_key", vendor: name, key: SIGNER.key });
  });

  test("changes nothing if a newer one was acknowledged before", () => {
    const past = made.at(MONDAY).execute(acknowledge(second));
    past.at(MONDAY).when(acknowledge(first)).records().answers({ isNew: false, newest: 2 });
    past.at(MONDAY).when(acknowledge(second)).records().answers({ isNew: false, newest: 2 });
  });

  test.each([
    ["a number that was not made", { n: 3, digest: second.digest }],
    ["another digest", { n: 2, digest: first.digest }],
  ])("is refused for %s", (_, named) => {
    made
      .at(MONDAY)
      .when(acknowledge(named))
      .refuses({ code: "statement_unknown", number: named.n, restoredAt: null });
  });

  test("is refused with the time of the last restore", () => {
    const restore = { lineage: "a", at: hoursLater(1), seq: 3, replaced: null };
    given({ type: "Restored", at: hoursLater(1), restore })
      .at(hoursLater(2))
      .when(acknowledge(first))
      .refuses({ code: "statement_unknown", number: 1, restoredAt: hoursLater(1) });
  });

  test("is refused for another digest of the acknowledged statement", () => {
    const past = made.at(MONDAY).execute(acknowledge(second));
    past
      .at(MONDAY)
      .when(acknowledge({ n: 2, digest: first.digest }))
      .refuses({ code: "statement_unknown", number: 2, restoredAt: null });
  });
});

describe("the state", () => {
  function makeMany(count: number): State {
    const state = makeNewSite();
    for (let n = 1; n <= count; n += 1) {
      const last = chainOf(state)?.statements.at(-1) ?? null;
      run(state, makeStatement(nextStatement(last, MONDAY, `statement ${n}`)));
    }
    return state;
  }

  test("keeps the newest statement after it is acknowledged, and none before it", () => {
    const state = makeMany(4);
    const [, , third, fourth] = chainOf(state)?.statements ?? [];
    if (third === undefined || fourth === undefined) throw new Error("statements are missing");
    run(state, acknowledge(third));
    expect(chainOf(state)?.statements.map(({ n }) => n)).toEqual([4]);
    run(state, acknowledge(fourth));
    expect(chainOf(state)?.statements.map(({ n }) => n)).toEqual([4]);
    expect(chainOf(state)?.acknowledged).toMatchObject({ n: 4, digest: fourth.digest });
  });

  test("keeps a limited number of statements that no vendor acknowledges", () => {
    const numbers = chainOf(makeMany(limits.keptStatements + 3))?.statements.map(({ n }) => n);
    expect(numbers).toHaveLength(limits.keptStatements);
    expect(numbers?.[0]).toBe(4);
  });

  test("is the same after it is written and read", () => {
    const state = makeMany(2);
    const [{ n, digest } = first] = chainOf(state)?.statements ?? [];
    run(state, acknowledge({ n, digest }));
    const snapshot = JSON.parse(
      JSON.stringify(encodeSnapshot(state, genesisHead, emptyAuditLogEnd)),
    );
    expect(getSnapshotCheck().Check(snapshot)).toBe(true);
    expect(dumpState(decodeSnapshot(snapshot))).toEqual(dumpState(state));
  });
});

describe("SettleExpiries", () => {
  const settle: Command = { type: "SettleExpiries", vendor };
  const features = [featureTerms("mesh", { floating: { slots: 2, timeoutMinutes: 10 } })];

  test("writes each expiry that is due on a line of its own, at its true end", () => {
    const past = given(licenseInstalled(1, { slots: 5, features }))
      .at(MONDAY)
      .execute(register("ada"), registerFeature("ada", "mesh"), register("bob"));
    past
      .at(hoursLater(30))
      .when(settle)
      .expires(
        { type: "SlotExpired", user: "ada", at: later(MONDAY, HOUR / 2) },
        { type: "FeatureExpired", user: "ada", at: later(MONDAY, HOUR / 6) },
      )
      .records({ type: "SlotExpired", user: "bob", at: later(MONDAY, HOUR / 2) })
      .answers({ isDone: false });
  });

  test("writes nothing if no expiry is due", () => {
    const past = given(licenseInstalled(1), slotTaken("ada"));
    past.at(MONDAY).when(settle).records().answers({ isDone: true });
  });

  test("writes nothing of another vendor's license", () => {
    const past = given(licenseInstalled(1), slotTaken("ada"));
    past
      .at(hoursLater(30))
      .when({ type: "SettleExpiries", vendor: "VENDOR0000000002" })
      .records()
      .answers({ isDone: true });
  });

  test("finishes after as many commands as the number of expiries needs", () => {
    const slots = limits.expiriesPerCommand * 3;
    const past = given(
      licenseInstalled(1, { slots }),
      ...Array.from({ length: slots }, (_, index) =>
        slotTaken(`user ${index}`, { slot: index + 1, end: later(MONDAY, index + 1) }),
      ),
    );
    let history = past;
    let commands = 0;
    for (let before = -1; before !== history.events.length; commands += 1) {
      before = history.events.length;
      history = history.at(hoursLater(1)).execute(settle);
    }
    expect(history.events.filter(({ type }) => type === "SlotExpired")).toHaveLength(slots);
    expect(commands).toBeLessThanOrEqual(5);
  });
});
