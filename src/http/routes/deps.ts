import type { Actor } from "../../operations/access.ts";
import type { Services } from "../app.ts";
import { refuse } from "../faults.ts";
import { identifier } from "../fields.ts";
import { callerOf, type Caller, type Gate } from "../gate.ts";

/** What every route is made with. */
export interface RouteDeps extends Services, Speaker {}

interface Speaker {
  /** Of the listener this is for. */
  readonly gate: Gate;
  /** Who did it, as events record it: the address, and on the admin plane the name before it. */
  readonly peerOf: (request: Request) => string;
  /** Whose slot a request is about: where people log in, nobody speaks for another. */
  readonly userOf: (request: Request, field: string | undefined) => string | null;
  /** Somebody logged in: the log shall know who. */
  readonly recognize: (request: Request, actor: Actor) => void;
  readonly keepOpen: Gate["keepOpen"];
}

export const speakingFor = (gate: Gate): Speaker => ({
  gate,
  keepOpen: gate.keepOpen,
  peerOf(request) {
    const { peer, actor, plane } = callerOf(request) ?? NOBODY;
    return plane === "admin" && actor !== null ? `${actor.name}@${peer}` : peer;
  },
  userOf(request, field) {
    const named = identifier("user", field);
    const { actor } = callerOf(request) ?? NOBODY;
    if (gate.clientAuth !== "login" || actor === null || actor.role === "admin") return named;
    if (named !== null && named !== actor.name) refuse({ code: "forbidden", reason: "user" });
    return actor.name;
  },
  recognize(request, actor) {
    const caller = callerOf(request);
    if (caller !== null) caller.actor = actor;
  },
});

const NOBODY: Caller = { peer: "unknown", actor: null, plane: "client" };
