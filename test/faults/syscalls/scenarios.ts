// What is played with a fault in it: every operation by itself on a copy of a prepared folder, and
// the ways a server starts, folds its journal, stops, and gets over a full disk.
import {
  addToFact,
  ANY_VALUE,
  LICENSE,
  describeSlot,
  withoutFacts,
  type AnswerBody,
  type FactsChange,
  type SiteFacts,
} from "./site-facts.ts";
import { LONG_HEARTBEAT_BYTES, type PreparedSite, type PreparedSites } from "./prepared-sites.ts";
import type { InjectedFault } from "./strace.ts";

export interface ScenarioStep {
  readonly name: string;
  readonly path: string;
  readonly method: "GET" | "POST";
  readonly body: object;
  readonly headers?: Readonly<Record<string, string>>;
  readonly change: FactsChange;
  readonly expectsRefusal?: boolean;
}

export interface Scenario {
  readonly name: string;
  /** The folder it begins with; null: none yet. */
  readonly startingSite: PreparedSite | null;
  /** Which process's calls are counted and made to fail. */
  readonly tracedProcess: "server" | "checkpoint";
  /** Whether the calls of its start are meant, or those after it. */
  readonly tracedPart: "start" | "rest";
  readonly steps: readonly ScenarioStep[];
  /** First the journal is made due, and folded while the server runs; then come the steps. */
  readonly runsCheckpoint: boolean;
  /** Told to stop at the end; else it is killed. */
  readonly stopsAtEnd: boolean;
  /** Only these faults; the others are those of another scene. */
  readonly faults?: readonly InjectedFault[];
  /** Room for some more bytes of journal only, until the first refusal. */
  readonly hasFullDisk: boolean;
}

const post = (path: string, body: object, change: FactsChange): ScenarioStep => ({
  name: path.replace(/^\/api\/(?:v4|admin\/v1)\//, ""),
  path,
  method: "POST",
  body,
  change,
});

const unchanged: FactsChange = (facts) => facts;

const takes =
  (user: string): FactsChange =>
  (facts, answer) => ({ ...facts, [`slot ${user}`]: answer === null ? ANY_VALUE : slotIn(answer) });

const slotIn = (answer: AnswerBody): string =>
  describeSlot(Date.parse(String(answer["expires_at"])), answer["is_borrowed"] === true);

const setsTo =
  (name: string, value: string): FactsChange =>
  (facts) => ({ ...facts, [name]: value });

const adds =
  (name: string, count = 1): FactsChange =>
  (facts) =>
    addToFact(facts, name, count);

const drops =
  (pattern: RegExp): FactsChange =>
  (facts) =>
    withoutFacts(facts, (name) => pattern.test(name));

const both =
  (...changes: readonly FactsChange[]): FactsChange =>
  (facts, answer) =>
    changes.reduce<SiteFacts>((so, change) => change(so, answer), facts);

/** Makes the heartbeat of somebody who holds a slot. */
export const heartbeat = post("/api/v4/register", { user: "ann" }, takes("ann"));

/** The line that makes the long journal due. */
export const longHeartbeat = post(
  "/api/v4/register",
  { user: "ann", user_info: "y".repeat(LONG_HEARTBEAT_BYTES) },
  takes("ann"),
);

/** Can be asked of a site without any license. */
export const makeRequest = post("/api/v4/license/generate", {}, adds("requests"));

/** Takes the last slot. */
export const takeLastSlot = post("/api/v4/register", { user: "dan" }, takes("dan"));

/** Refused once `takeLast` is decided, and only then. */
export const registerWithoutFreeSlot: ScenarioStep = {
  ...post("/api/v4/register", { user: "eve" }, takes("eve")),
  expectsRefusal: true,
};

export const refusedRegister: ScenarioStep = {
  ...post("/api/v4/register", { product: "nope", user: "eve" }, unchanged),
  expectsRefusal: true,
};

export const readSlots: ScenarioStep = {
  ...post("/api/admin/v1/registrations", {}, unchanged),
  method: "GET",
};

export const readStatus: ScenarioStep = {
  ...post("/api/admin/v1/status", {}, unchanged),
  method: "GET",
};

const SOME_KEYS = { apiKey: "new-a", sharedKey: "new-s" };
const setKeys = post("/api/v4/setKeys", SOME_KEYS, setsTo("keys", "new-a new-s"));

function operations({ renewal, trust, confirmation }: PreparedSites): ScenarioStep[] {
  const api = "/api/v4";
  const count: ScenarioStep = {
    ...post(
      `${api}/add_consumption`,
      { consumptions: "3" },
      both(adds("count", 3), adds("remembered")),
    ),
    headers: { "idempotency-key": "once" },
  };
  const renewed = both(
    setsTo("terms", "serial 2, 6 slots"),
    adds("requests", -1),
    adds("answered"),
  );
  return [
    takeLastSlot,
    { ...heartbeat, name: "register again" },
    post(`${api}/borrow`, { user: "bob" }, takes("bob")),
    post(`${api}/unregister`, { user: "cid" }, drops(/^slot cid$/)),
    count,
    post(
      `${api}/add_feature_consumption`,
      { feature: "plot", consumptions: "2" },
      adds("count plot", 2),
    ),
    post(
      `${api}/featureRegister`,
      { feature: "view", user: "ann" },
      setsTo("feature view ann", "held"),
    ),
    post(`${api}/featureRelease`, { feature: "view", user: "bob" }, drops(/^feature view bob$/)),
    { ...post(`${api}/featureRelease/all`, {}, drops(/^feature /)), method: "GET" },
    post(`${api}/unregister/all`, {}, drops(/^(?:slot|feature) /)),
    makeRequest,
    post(`${api}/license/upload`, { license: renewal }, renewed),
    post(`${api}/airgap/generate`, { license_key: "K-2" }, adds("activations")),
    post(`${api}/airgap/license`, confirmation, both(adds("licenses"), adds("activations", -1))),
    setKeys,
    post("/api/admin/v1/trust/add", { license: trust }, adds("vendors")),
    post("/api/admin/v1/clock/request", {}, setsTo("clock", "asked")),
    post(
      "/api/admin/v1/licenses/remove",
      { license_id: LICENSE, with_borrows: true },
      both(
        drops(/^(?:slot|feature|count|terms)\b/),
        adds("licenses", -1),
        adds("requests", -1),
        adds("tombstones"),
      ),
    ),
  ];
}

const plain = {
  tracedProcess: "server",
  tracedPart: "rest",
  steps: [],
  runsCheckpoint: false,
  stopsAtEnd: false,
  hasFullDisk: false,
} as const;

export function makeScenarios(prepared: PreparedSites): Scenario[] {
  const { site, withCredentials, withTornTail, withDueJournal } = prepared;
  return [
    ...operations(prepared).map((step) => ({
      ...plain,
      name: step.name,
      startingSite: site,
      steps: [step],
    })),
    { ...plain, name: "setKeys again", startingSite: withCredentials, steps: [setKeys] },
    { ...plain, name: "a start", startingSite: site, tracedPart: "start", steps: [heartbeat] },
    {
      ...plain,
      name: "a start after a crash",
      startingSite: withTornTail,
      tracedPart: "start",
      steps: [heartbeat],
    },
    {
      ...plain,
      name: "the first start",
      startingSite: null,
      tracedPart: "start",
      steps: [makeRequest],
    },
    { ...plain, name: "a full disk", startingSite: site, steps: [takeLastSlot], hasFullDisk: true },
    { ...plain, name: "a stop", startingSite: site, steps: [refusedRegister], stopsAtEnd: true },
    {
      ...plain,
      name: "the checkpoint of a stop",
      startingSite: site,
      tracedProcess: "checkpoint",
      steps: [heartbeat],
      stopsAtEnd: true,
      faults: ["kill"],
    },
    {
      ...plain,
      name: "a rotation",
      startingSite: withDueJournal,
      steps: [takeLastSlot],
      runsCheckpoint: true,
    },
    {
      ...plain,
      name: "a checkpoint",
      startingSite: withDueJournal,
      tracedProcess: "checkpoint",
      steps: [takeLastSlot],
      runsCheckpoint: true,
      stopsAtEnd: true,
    },
  ];
}
