// The scenarios that faults are injected into: every operation by itself on a copy of a prepared
// folder, and the starts, checkpoints, stops and full disk of a server.
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
  /** The folder to start with; null: there is none. */
  readonly startingSite: PreparedSite | null;
  /** The process whose calls are counted and made to fail. */
  readonly tracedProcess: "server" | "checkpoint";
  /** Whether faults hit the calls during the start or those after it. */
  readonly tracedPart: "start" | "rest";
  readonly steps: readonly ScenarioStep[];
  /** Whether a checkpoint runs before the steps, started by a heartbeat that makes it due. */
  readonly runsCheckpoint: boolean;
  /** Whether the server is stopped at the end; otherwise it is killed. */
  readonly stopsAtEnd: boolean;
  /** Only these faults; another scenario covers the others. */
  readonly faults?: readonly InjectedFault[];
  /** Faults at each call in a usual run: "one", where another scenario makes the same calls. */
  readonly faultsPerCall: "one" | "two" | "all";
  /** Whether only a few more bytes of journal fit, until the first refusal. */
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

const takesSlot =
  (user: string): FactsChange =>
  (facts, answer) => ({
    ...facts,
    [`slot ${user}`]: answer === null ? ANY_VALUE : slotFromAnswer(answer),
  });

const slotFromAnswer = (answer: AnswerBody): string =>
  describeSlot(Date.parse(String(answer["expires_at"])), answer["is_borrowed"] === true);

const setsFact =
  (name: string, value: string): FactsChange =>
  (facts) => ({ ...facts, [name]: value });

const addsToFact =
  (name: string, count = 1): FactsChange =>
  (facts) =>
    addToFact(facts, name, count);

const removesFacts =
  (pattern: RegExp): FactsChange =>
  (facts) =>
    withoutFacts(facts, (name) => pattern.test(name));

const combine =
  (...changes: readonly FactsChange[]): FactsChange =>
  (facts, answer) =>
    changes.reduce<SiteFacts>((current, change) => change(current, answer), facts);

/** A heartbeat of a user who has a slot. */
export const heartbeat = post("/api/v4/register", { user: "ann" }, takesSlot("ann"));

/** The heartbeat that makes the next checkpoint due. */
export const longHeartbeat = post(
  "/api/v4/register",
  { user: "ann", user_info: "y".repeat(LONG_HEARTBEAT_BYTES) },
  takesSlot("ann"),
);

/** Works without a license. */
export const makeRequest = post("/api/v4/license/generate", {}, addsToFact("requests"));

/** Takes the last slot. */
export const takeLastSlot = post("/api/v4/register", { user: "dan" }, takesSlot("dan"));

/** Refused when `takeLastSlot` is decided, and only then. */
export const registerWithoutFreeSlot: ScenarioStep = {
  ...post("/api/v4/register", { user: "eve" }, takesSlot("eve")),
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

const NEW_KEYS = { apiKey: "new-a", sharedKey: "new-s" };
const setKeys = post("/api/v4/setKeys", NEW_KEYS, setsFact("keys", "new-a new-s"));

function operations({ renewal, trust, confirmation }: PreparedSites): ScenarioStep[] {
  const api = "/api/v4";
  const count: ScenarioStep = {
    ...post(
      `${api}/add_consumption`,
      { consumptions: "3" },
      combine(addsToFact("count", 3), addsToFact("idempotencyKeys")),
    ),
    headers: { "idempotency-key": "once" },
  };
  const renewalChange = combine(
    setsFact("terms", "serial 2, 6 slots"),
    addsToFact("requests", -1),
    addsToFact("answered"),
  );
  return [
    takeLastSlot,
    { ...heartbeat, name: "register again" },
    post(`${api}/borrow`, { user: "bob" }, takesSlot("bob")),
    post(`${api}/unregister`, { user: "cid" }, removesFacts(/^slot cid$/)),
    count,
    post(
      `${api}/add_feature_consumption`,
      { feature: "plot", consumptions: "2" },
      addsToFact("count plot", 2),
    ),
    post(
      `${api}/featureRegister`,
      { feature: "view", user: "ann" },
      setsFact("feature view ann", "registered"),
    ),
    post(
      `${api}/featureRelease`,
      { feature: "view", user: "bob" },
      removesFacts(/^feature view bob$/),
    ),
    { ...post(`${api}/featureRelease/all`, {}, removesFacts(/^feature /)), method: "GET" },
    post(`${api}/unregister/all`, {}, removesFacts(/^(?:slot|feature) /)),
    makeRequest,
    post(`${api}/license/upload`, { license: renewal }, renewalChange),
    post(`${api}/airgap/generate`, { license_key: "K-2" }, addsToFact("activations")),
    post(
      `${api}/airgap/license`,
      confirmation,
      combine(addsToFact("licenses"), addsToFact("activations", -1)),
    ),
    setKeys,
    post("/api/admin/v1/trust/add", { license: trust }, addsToFact("vendors")),
    post("/api/admin/v1/clock/request", {}, setsFact("clock", "requested")),
    post(
      "/api/admin/v1/licenses/remove",
      { license_id: LICENSE, with_borrows: true },
      combine(
        removesFacts(/^(?:slot|feature|count|terms)\b/),
        addsToFact("licenses", -1),
        addsToFact("requests", -1),
        addsToFact("tombstones"),
      ),
    ),
  ];
}

const defaults = {
  tracedProcess: "server",
  tracedPart: "rest",
  steps: [],
  runsCheckpoint: false,
  stopsAtEnd: false,
  faultsPerCall: "two",
  hasFullDisk: false,
} as const;

/** All operations write and sync the journal alike; only `setKeys` writes other files too. */
function faultsPerCallOf(step: ScenarioStep): Scenario["faultsPerCall"] {
  if (step === takeLastSlot) return "all";
  return step === setKeys ? "two" : "one";
}

export function makeScenarios(prepared: PreparedSites): Scenario[] {
  const { site, withCredentials, withTornTail, withDueJournal } = prepared;
  return [
    ...operations(prepared).map((step) => ({
      ...defaults,
      name: step.name,
      startingSite: site,
      steps: [step],
      faultsPerCall: faultsPerCallOf(step),
    })),
    {
      ...defaults,
      name: "setKeys again",
      startingSite: withCredentials,
      steps: [setKeys],
      faultsPerCall: "one",
    },
    {
      ...defaults,
      name: "a start",
      startingSite: site,
      tracedPart: "start",
      steps: [heartbeat],
      // "a start after a crash" makes them too.
      faultsPerCall: "one",
    },
    {
      ...defaults,
      name: "a start after a crash",
      startingSite: withTornTail,
      tracedPart: "start",
      steps: [heartbeat],
    },
    {
      ...defaults,
      name: "the first start",
      startingSite: null,
      tracedPart: "start",
      steps: [makeRequest],
    },
    {
      ...defaults,
      name: "a full disk",
      startingSite: site,
      steps: [takeLastSlot],
      hasFullDisk: true,
    },
    { ...defaults, name: "a stop", startingSite: site, steps: [refusedRegister], stopsAtEnd: true },
    {
      ...defaults,
      name: "the checkpoint of a stop",
      startingSite: site,
      tracedProcess: "checkpoint",
      steps: [heartbeat],
      stopsAtEnd: true,
      faults: ["kill"],
    },
    {
      ...defaults,
      name: "a rotation",
      startingSite: withDueJournal,
      steps: [takeLastSlot],
      runsCheckpoint: true,
    },
    {
      ...defaults,
      name: "a checkpoint",
      startingSite: withDueJournal,
      tracedProcess: "checkpoint",
      steps: [takeLastSlot],
      runsCheckpoint: true,
      stopsAtEnd: true,
      // "the checkpoint of a stop" is killed at each of them, with a shorter journal.
      faultsPerCall: "one",
    },
  ];
}
