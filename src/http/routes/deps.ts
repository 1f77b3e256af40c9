import type { Actor } from "../../operations/access-control.ts";
import type { Services } from "../app.ts";
import { refuse } from "../faults.ts";
import { readIdentifier } from "../fields.ts";
import { callerOf, type Caller, type Gate } from "../gate.ts";

/** What every route is made with. */
export interface RouteDeps extends Services, RequestContext {}

interface RequestContext {
  /** Of the listener this is for. */
  readonly gate: Gate;
  /** Who did it, as events record it: the address, and on the admin plane the name before it. */
  readonly peerOf: (request: Request) => string;
  /** Whose slot a request is about: where people log in, nobody speaks for another. */
  readonly userOf: (request: Request, field: string | undefined) => string | null;
  /** Somebody logged in: the log shall know who. */
  readonly setActor: (request: Request, actor: Actor) => void;
  readonly keepOpen: Gate["keepOpen"];
}

export const createRequestContext = (gate: Gate): RequestContext => ({
  gate,
  keepOpen: gate.keepOpen,
  peerOf(request) {
    const { peer, actor, plane } = callerOf(request) ?? UNKNOWN_CALLER;
    return plane === "admin" && actor !== null ? `${actor.name}@${peer}` : peer;
  },
  userOf(request, field) {
    const named = readIdentifier("user", field);
    const { actor } = callerOf(request) ?? UNKNOWN_CALLER;
    if (gate.clientAuth !== "login" || actor === null || actor.role === "admin") return named;
    if (named !== null && named !== actor.name) refuse({ code: "forbidden", reason: "user" });
    return actor.name;
  },
  setActor(request, actor) {
    const caller = callerOf(request);
    if (caller !== null) caller.actor = actor;
  },
});

const UNKNOWN_CALLER: Caller = { peer: "unknown", actor: null, plane: "client" };
