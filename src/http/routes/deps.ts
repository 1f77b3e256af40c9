import { personOf } from "../../domain/model/slots/person.ts";
import type { Identity } from "../../domain/model/rules/caller-facts.ts";
import type { Actor } from "../../operations/access/access-control.ts";
import type { Services } from "../services.ts";
import { refuse } from "../faults.ts";
import { readIdentifier } from "../request/fields.ts";
import { callerOf, type Caller, type Gate } from "../access/gate.ts";

/** Dependencies of every route. */
export interface RouteDeps extends Services, RequestContext {}

interface RequestContext {
  /** Gate of the app's listener. */
  readonly gate: Gate;
  /** The address for the audit log; on the admin plane, with the credential's name before it. */
  readonly peerOf: (request: Request) => string;
  /** The user of a request. With logins, only an administrator may name another user. */
  readonly userOf: (request: Request, field: string | undefined) => string | null;
  /**
   * What was observed of the caller, for the rules; null: only its address. An administrator who
   * acts for another user has no login.
   */
  readonly identityOf: (request: Request, user: string | null) => Identity | null;
  /** Sets who logged in, for the access log. */
  readonly setActor: (request: Request, actor: Actor) => void;
  readonly keepOpen: Gate["keepOpen"];
}

export const createRequestContext = (gate: Gate): RequestContext => ({
  gate,
  keepOpen: gate.keepOpen,
  peerOf(request) {
    const { peer, actor, route } = callerOf(request) ?? UNKNOWN_CALLER;
    return route?.plane === "admin" && actor !== null ? `${actor.name}@${peer}` : peer;
  },
  userOf(request, field) {
    const requestedUser = readIdentifier("user", field);
    const { actor } = callerOf(request) ?? UNKNOWN_CALLER;
    if (gate.clientAuth !== "login" || actor === null || actor.role === "admin")
      return requestedUser;
    if (requestedUser === null) return actor.name;
    if (!isOwnName(actor, requestedUser)) refuse({ code: "forbidden", reason: "user" });
    return requestedUser;
  },
  identityOf(request, user) {
    const { actor } = callerOf(request) ?? UNKNOWN_CALLER;
    if (gate.clientAuth !== "login" || actor === null || user === null) return null;
    // Bun gives handlers no certificate of a client.
    return isOwnName(actor, user) ? { login: actor.name, certificate: null } : null;
  },
  setActor(request, actor) {
    const caller = callerOf(request);
    if (caller !== null) caller.actor = actor;
  },
});

/** A login may act as itself, and as instances of itself, such as `ada#ws-17`. */
const isOwnName = ({ name }: Actor, user: string): boolean =>
  user === name || personOf(user) === name;

const UNKNOWN_CALLER: Caller = { peer: "unknown", actor: null, route: null, waitedMs: 0 };
