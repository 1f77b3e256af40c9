// The bytes of the requests, prepared before the measurement, and the order in which they are sent.
import { CONTESTED_PRODUCT, FULL_PRODUCT, heartbeatFields, PRODUCT } from "./populated-site.ts";
import type { LoadKind, LoadPlan } from "./load-plan.ts";
import type { PeerRequest } from "./peer-options.ts";
import { peerHeartbeatOf } from "./peer-heartbeat.ts";

/** The meaning of a correct answer. */
export type AnswerKind = "granted" | "renewed" | "released" | "consumed" | "denied" | "read";

export interface RequestStep {
  readonly bytes: Uint8Array;
  /** By the status of the answer; any other is an error. */
  readonly answerKinds: Readonly<Record<number, AnswerKind>>;
}

/** The requests of one connection. */
export interface ConnectionScript {
  /** The next request after the last answer; null: the connection can stop here. */
  next(last: AnswerKind | null, isStopping: boolean): RequestStep | null;
}

/** With more users than this, requests are prepared for every n-th user. */
const MAX_PREPARED = 10_000;
/** The last users borrow, so that the answers to all others stay the same. */
const BORROWERS = 50;
const BORROWED_DAYS = 3;
const DAY = 24 * 60 * 60 * 1_000;

/** A script for each connection. */
export function makeScripts(plan: LoadPlan): ConnectionScript[] {
  const { url, kind, connections, users, peerRequest } = plan;
  const { host } = new URL(url);
  const indexes = Array.from({ length: connections }, (_, index) => index);
  if (kind === "cycle") {
    return indexes.map((index) => new Cycle(new NewUser(host, PRODUCT, index, { 200: "granted" })));
  }
  if (kind === "contest") {
    const answerKinds = { 200: "granted", 400: "denied" } as const;
    return indexes.map(
      (index) => new Cycle(new NewUser(host, CONTESTED_PRODUCT, index, answerKinds)),
    );
  }
  const steps =
    peerRequest === undefined
      ? makeSteps(host, kind, users)
      : makePeerSteps(url, peerRequest, users);
  return indexes.map((index) => new Rotation(steps, index, connections));
}

function makeSteps(
  host: string,
  kind: Exclude<LoadKind, "cycle" | "contest">,
  users: number,
): RequestStep[] {
  switch (kind) {
    case "heartbeat":
      return selectUsers(users - BORROWERS).map((user) => ({
        bytes: post(host, "register", heartbeatFields(user)),
        answerKinds: { 200: "renewed" },
      }));
    case "borrow": {
      const borrowed_until = new Date(Date.now() + BORROWED_DAYS * DAY).toISOString();
      return Array.from({ length: BORROWERS }, (_, index) => ({
        bytes: post(host, "borrow", { ...heartbeatFields(users - 1 - index), borrowed_until }),
        answerKinds: { 200: "renewed" },
      }));
    }
    case "consumption":
      return [
        {
          bytes: post(host, "add_consumption", { product: PRODUCT, consumptions: "1" }),
          answerKinds: { 200: "consumed" },
        },
      ];
    case "denial":
      return Array.from({ length: MAX_PREPARED }, (_, index) => ({
        bytes: post(host, "register", {
          ...heartbeatFields(index),
          product: FULL_PRODUCT,
          user: `late-${index}`,
        }),
        answerKinds: { 400: "denied" },
      }));
    case "health":
      return [
        {
          bytes: Buffer.from(`GET /api/v4/health ${headStart(host)}\r\n`),
          answerKinds: { 200: "read" },
        },
      ];
  }
}

/** For a server that is not Berth, every status of success is a correct answer. */
const ANY_SUCCESS: RequestStep["answerKinds"] = Object.fromEntries(
  Array.from({ length: 100 }, (_, index) => [200 + index, "renewed"]),
);

/** Heartbeats of the same users as for Berth. */
const makePeerSteps = (url: string, request: PeerRequest, users: number): RequestStep[] =>
  selectUsers(users - BORROWERS).map((user) => ({
    bytes: peerHeartbeatOf(url, request, user),
    answerKinds: ANY_SUCCESS,
  }));

/** Indexes of at most MAX_PREPARED users, evenly distributed. */
function selectUsers(users: number): number[] {
  const count = Math.min(users, MAX_PREPARED);
  return Array.from({ length: count }, (_, index) => Math.floor((index * users) / count));
}

/** The heartbeat of one user. */
export const heartbeatOf = (url: string, index: number): Buffer =>
  post(new URL(url).host, "register", heartbeatFields(index));

const headStart = (host: string): string => `HTTP/1.1\r\nHost: ${host}\r\n`;

function post(host: string, operation: string, fields: object): Buffer {
  const body = JSON.stringify(fields);
  const type = `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n`;
  return Buffer.from(`POST /api/v4/${operation} ${headStart(host)}${type}\r\n${body}`);
}

/** The same requests again and again, shared by all connections. */
class Rotation implements ConnectionScript {
  readonly #steps: readonly RequestStep[];
  readonly #stride: number;
  #at: number;

  constructor(steps: readonly RequestStep[], index: number, connections: number) {
    this.#steps = steps;
    this.#stride = connections;
    this.#at = index % steps.length;
  }

  next(_last: AnswerKind | null, isStopping: boolean): RequestStep | null {
    if (isStopping) return null;
    const step = this.#steps[this.#at] ?? null;
    this.#at = (this.#at + this.#stride) % this.#steps.length;
    return step;
  }
}

const DIGITS = "00000000";

/** Requests of one connection, each time for a new user: only the digits of the name change. */
class NewUser {
  readonly claim: RequestStep;
  readonly heartbeat: RequestStep;
  readonly release: RequestStep;
  readonly #digitOffsets: readonly (readonly [bytes: Uint8Array, at: number])[];
  #number = 0;

  constructor(
    host: string,
    product: string,
    index: number,
    answerKinds: RequestStep["answerKinds"],
  ) {
    const user = `new-${process.pid.toString(36)}-${Date.now().toString(36)}-${index}-${DIGITS}`;
    const claim = post(host, "register", { ...contactFields(index), product, user });
    const release = post(host, "unregister", { product, user });
    this.claim = { bytes: claim, answerKinds };
    this.heartbeat = { bytes: claim, answerKinds: { 200: "renewed" } };
    this.release = { bytes: release, answerKinds: { 200: "released" } };
    const prefixLength = user.length - DIGITS.length;
    this.#digitOffsets = [claim, release].map((bytes) => [
      bytes,
      bytes.indexOf(user) + prefixLength,
    ]);
  }

  /** Changes all requests to the next user. */
  change(): void {
    this.#number += 1;
    for (const [bytes, at] of this.#digitOffsets) {
      let rest = this.#number;
      for (let digit = DIGITS.length - 1; rest > 0; digit -= 1) {
        bytes[at + digit] = 48 + (rest % 10);
        rest = Math.floor(rest / 10);
      }
    }
  }
}

function contactFields(index: number) {
  const { product: _product, user: _user, ...contact } = heartbeatFields(index);
  return contact;
}

/** Registers, sends one heartbeat and unregisters, each time as another user. */
class Cycle implements ConnectionScript {
  readonly #user: NewUser;

  constructor(user: NewUser) {
    this.#user = user;
  }

  next(last: AnswerKind | null, isStopping: boolean): RequestStep | null {
    if (last === "granted") return this.#user.heartbeat;
    if (last === "renewed") return this.#user.release;
    if (isStopping) return null;
    this.#user.change();
    return this.#user.claim;
  }
}
