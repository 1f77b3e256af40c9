// What is played with a fault in it: every operation by itself on a copy of a prepared folder, and
// the ways a server starts, folds its journal, stops, and gets over a full disk.
import {
  added,
  ANY,
  LICENSE,
  slot,
  without,
  type Answered,
  type Change,
  type Facts,
} from "./syscalls-facts.ts";
import { TIP, type Begun, type Prepared } from "./syscalls-site.ts";
import type { Effect } from "./syscalls-trace.ts";

export interface Step {
  readonly name: string;
  readonly path: string;
  readonly method: "GET" | "POST";
  readonly body: object;
  readonly headers?: Readonly<Record<string, string>>;
  readonly change: Change;
  readonly isRefused?: boolean;
}

export interface Scene {
  readonly name: string;
  /** The folder it begins with; null: none yet. */
  readonly from: Begun | null;
  /** Which process's calls are counted and made to fail. */
  readonly traced: "server" | "checkpoint";
  /** Whether the calls of its start are meant, or those after it. */
  readonly part: "start" | "rest";
  readonly steps: readonly Step[];
  /** First the journal is made due, and folded while the server runs; then come the steps. */
  readonly folds: boolean;
  /** Told to stop at the end; else it is killed. */
  readonly stops: boolean;
  /** Only these faults; the others are those of another scene. */
  readonly effects?: readonly Effect[];
  /** Room for some more bytes of journal only, until the first refusal. */
  readonly full: boolean;
}

const post = (path: string, body: object, change: Change): Step => ({
  name: path.replace(/^\/api\/(?:v4|admin\/v1)\//, ""),
  path,
  method: "POST",
  body,
  change,
});

const unchanged: Change = (facts) => facts;

const takes =
  (user: string): Change =>
  (facts, answer) => ({ ...facts, [`slot ${user}`]: answer === null ? ANY : slotIn(answer) });

const slotIn = (answer: Answered): string =>
  slot(Date.parse(String(answer["expires_at"])), answer["is_borrowed"] === true);

const setsTo =
  (name: string, value: string): Change =>
  (facts) => ({ ...facts, [name]: value });

const adds =
  (name: string, count = 1): Change =>
  (facts) =>
    added(facts, name, count);

const drops =
  (pattern: RegExp): Change =>
  (facts) =>
    without(facts, (name) => pattern.test(name));

const both =
  (...changes: readonly Change[]): Change =>
  (facts, answer) =>
    changes.reduce<Facts>((so, change) => change(so, answer), facts);

/** Makes the heartbeat of somebody who holds a slot. */
export const heartbeat = post("/api/v4/register", { user: "ann" }, takes("ann"));

/** The line that makes the long journal due. */
export const tip = post(
  "/api/v4/register",
  { user: "ann", user_info: "y".repeat(TIP) },
  takes("ann"),
);

/** Can be asked of a site without any license. */
export const makeRequest = post("/api/v4/license/generate", {}, adds("requests"));

/** Takes the last slot. */
export const takeLast = post("/api/v4/register", { user: "dan" }, takes("dan"));

/** Refused once `takeLast` is decided, and only then. */
export const tooLate: Step = {
  ...post("/api/v4/register", { user: "eve" }, takes("eve")),
  isRefused: true,
};

export const refused: Step = {
  ...post("/api/v4/register", { product: "nope", user: "eve" }, unchanged),
  isRefused: true,
};

export const readSlots: Step = {
  ...post("/api/admin/v1/registrations", {}, unchanged),
  method: "GET",
};

export const readStatus: Step = { ...post("/api/admin/v1/status", {}, unchanged), method: "GET" };

const SOME_KEYS = { apiKey: "new-a", sharedKey: "new-s" };
const setKeys = post("/api/v4/setKeys", SOME_KEYS, setsTo("keys", "new-a new-s"));

function operations({ renewal, trust, confirmation }: Prepared): Step[] {
  const api = "/api/v4";
  const count: Step = {
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
    takeLast,
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
  traced: "server",
  part: "rest",
  steps: [],
  folds: false,
  stops: false,
  full: false,
} as const;

export function scenes(prepared: Prepared): Scene[] {
  const { site, keyed, torn, long } = prepared;
  return [
    ...operations(prepared).map((step) => ({
      ...plain,
      name: step.name,
      from: site,
      steps: [step],
    })),
    { ...plain, name: "setKeys again", from: keyed, steps: [setKeys] },
    { ...plain, name: "a start", from: site, part: "start", steps: [heartbeat] },
    { ...plain, name: "a start after a crash", from: torn, part: "start", steps: [heartbeat] },
    { ...plain, name: "the first start", from: null, part: "start", steps: [makeRequest] },
    { ...plain, name: "a full disk", from: site, steps: [takeLast], full: true },
    { ...plain, name: "a stop", from: site, steps: [refused], stops: true },
    {
      ...plain,
      name: "the checkpoint of a stop",
      from: site,
      traced: "checkpoint",
      steps: [heartbeat],
      stops: true,
      effects: ["kill"],
    },
    { ...plain, name: "a rotation", from: long, steps: [takeLast], folds: true },
    {
      ...plain,
      name: "a checkpoint",
      from: long,
      traced: "checkpoint",
      steps: [takeLast],
      folds: true,
      stops: true,
    },
  ];
}
