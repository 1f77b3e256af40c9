// Everything that can happen at the site next. A call is performed as the operations perform it:
// users who wait got what was free before, and get what the call leaves free.
import { decide, type Command } from "../../../src/domain/decide.ts";
import type { State } from "../../../src/domain/model/state.ts";
import { HOUR, later, type Instant } from "../../../src/domain/time.ts";
import type { ModelAnswer } from "../../sharing/model.ts";
import { takePlace } from "../../support/queue-commands.ts";
import {
  borrow,
  register,
  registerFeature,
  releaseFeature,
  renew,
  unregister,
} from "../../support/scenario.ts";
import { demand, type Step } from "../search.ts";
import { Action } from "./action.ts";
import { describeUsers, makeKey } from "./key.ts";
import { NaiveSite, requireSameAnswer } from "./naive-site.ts";
import { checkRefusal } from "./promises.ts";
import {
  buildState,
  contextOf,
  FEATURE,
  JUMP,
  LICENSE,
  LONG_WAIT,
  PRODUCT,
  SHORT_BORROW,
  SHORT_WAIT,
  TERMS,
  trueTimeOf,
  USERS,
  type SiteWorld,
} from "./world.ts";

/** So often the clock may jump in one sequence. */
const MAX_JUMPS = 2;

export function* listSteps(world: SiteWorld, calls: CallKind): Generator<Step<SiteWorld>> {
  const state = buildState(world.events);
  const unchanged = { world, state, model: new NaiveSite(state, world.clock) };
  const known = describeUsers(world, state);
  for (const [index, user] of USERS.entries()) {
    // The same would happen to another user of whom the same is known.
    if (known.indexOf(known[index] ?? "") === index) yield* listCalls(unchanged, user, calls);
  }
  yield* listTimes(world);
  yield* listClockChanges(world);
  demand(
    makeKey(world, state, describeUsers(world, state)) === world.key,
    () => "a call that was refused changed the state",
  );
}

/** With one device for each user; or without queue and features, and with two devices. */
export type CallKind = "sharing" | "leases";

interface Call {
  readonly name: string;
  readonly command: Command;
  readonly decideNaively: (model: NaiveSite) => ModelAnswer;
  /** A caller who is refused waits. */
  readonly canWait?: true;
}

const DEVICES = ["laptop", "tablet", null] as const;
type Device = (typeof DEVICES)[number];

const describeDevice = (device: Device): string =>
  device === null ? "without a nonce" : `on the ${device}`;

const registerOn = (user: string, device: Device, at: Instant): Call => ({
  name: `registers ${describeDevice(device)}`,
  command: register(user, { nonceDigest: device }),
  decideNaively: (model) => model.register(user, at),
});

/** Null: as long as possible. */
function borrowOn(user: string, device: Device, length: number | null, at: Instant): Call {
  const until = length === null ? null : later(at, length);
  const span = length === null ? "for as long as possible" : `for ${length / HOUR} hour`;
  return {
    name: `borrows ${span}, ${describeDevice(device)}`,
    command: borrow(user, until, { nonceDigest: device }),
    decideNaively: (model) => model.borrow(user, until, at),
  };
}

const unregisterOf = (user: string, at: Instant): Call => ({
  name: "unregisters",
  command: unregister(user),
  decideNaively: (model) => model.unregister(user, at),
});

const MAKE_CALLS: Readonly<Record<CallKind, (user: string, at: Instant) => readonly Call[]>> = {
  sharing: (user, at) => [
    { ...registerOn(user, null, at), name: "registers, or waits", canWait: true },
    borrowOn(user, "laptop", null, at),
    borrowOn(user, "laptop", SHORT_BORROW, at),
    unregisterOf(user, at),
    {
      name: "registers the feature",
      command: registerFeature(user, FEATURE),
      decideNaively: (model) => model.registerFeature(user, at),
    },
    {
      name: "releases the feature",
      command: releaseFeature(user, FEATURE),
      decideNaively: (model) => model.releaseFeature(user, at),
    },
  ],
  leases: (user, at) => [
    ...DEVICES.flatMap((device) => [
      registerOn(user, device, at),
      borrowOn(user, device, SHORT_BORROW, at),
    ]),
    borrowOn(user, "laptop", null, at),
    unregisterOf(user, at),
  ],
};

/** What a refused call is decided with: it changes none of them. */
interface Unchanged {
  readonly world: SiteWorld;
  readonly state: State;
  readonly model: NaiveSite;
}

function* listCalls(
  unchanged: Unchanged,
  user: string,
  calls: CallKind,
): Generator<Step<SiteWorld>> {
  const { world, state } = unchanged;
  for (const call of MAKE_CALLS[calls](user, world.clock.at)) {
    yield { action: `${user} ${call.name}`, perform: () => performCall(unchanged, user, call) };
  }
  if (state.queues.get(PRODUCT)?.get(user) === undefined) return;
  yield {
    action: `${user} is silent for too long, and loses the place in the queue`,
    perform: () => performAction(world, (action) => action.dispatch([user])),
  };
}

function performCall(unchanged: Unchanged, user: string, call: Call): SiteWorld | null {
  const { world, state, model } = unchanged;
  const { command, decideNaively, canWait } = call;
  const decision = decide(state, command, contextOf(world.clock));
  if (decision.ok) {
    return performAction(world, (action) => {
      requireSameAnswer(action.run(command), decideNaively(action.model));
      action.dispatch();
    });
  }
  if (checkRefusal(decision.fault, command, world, state))
    requireSameAnswer(decision, decideNaively(model));
  if (canWait !== true || decision.fault.code !== "floating_not_available") return null;
  return performAction(world, (action) => {
    action.run(takePlace(user));
    action.model.takePlace(user);
    action.dispatch();
  });
}

/** Performs an action that the naive model performs too. */
function performAction(world: SiteWorld, perform: (action: Action) => void): SiteWorld {
  const action = new Action(world);
  perform(action);
  const next = action.finish();
  action.requireSameAsModel();
  return next;
}

function* listTimes(world: SiteWorld): Generator<Step<SiteWorld>> {
  const pass = (milliseconds: number) => () =>
    performAction(world, (action) => {
      action.clock = { ...world.clock, at: later(world.clock.at, milliseconds) };
      action.run({ type: "MarkClock" });
      action.dispatch();
    });
  yield { action: "20 minutes pass", perform: pass(SHORT_WAIT) };
  yield { action: "24 hours pass", perform: pass(LONG_WAIT) };
  const slots = TERMS[(world.renewals + 1) % TERMS.length]?.slots;
  yield {
    action: `the license is renewed: slots ${slots}`,
    perform: () =>
      performAction(world, (action) => {
        action.renewals += 1;
        const result = action.run(makeRenewal(action.renewals));
        demand(result.ok, () => "a renewal is refused");
        action.model.renewLicense(action.state);
        action.dispatch();
      }),
  };
}

const renewalCommands: Command[] = [];

const makeRenewal = (count: number): Command =>
  (renewalCommands[count] ??= renew(LICENSE, count + 1, TERMS[count % TERMS.length]));

function* listClockChanges(world: SiteWorld): Generator<Step<SiteWorld>> {
  const { clock } = world;
  const { at, ahead, isCorrected, jumpCount } = clock;
  if (!isCorrected && jumpCount < MAX_JUMPS)
    yield {
      action: "the system clock jumps ahead by 30 hours, and is followed",
      perform: () =>
        performAction(world, (action) => {
          const to = later(at, JUMP);
          action.clock = { ...clock, at: to, ahead: ahead + JUMP, jumpCount: jumpCount + 1 };
          action.run({ type: "JumpClock", from: at, to, reason: "start" });
          action.dispatch();
        }),
    };
  if (!isCorrected && ahead > 0)
    yield {
      action: "the system clock is corrected",
      perform: () =>
        performAction(world, (action) => {
          action.clock = { ...clock, isCorrected: true };
          action.dispatch();
        }),
    };
  if (isCorrected)
    yield { action: "the time is repaired", perform: () => repairClock(new Action(world)) };
}

/** With the true time, which a vendor signed. How a set-back moves times is not in the model. */
function repairClock(action: Action): SiteWorld {
  const to = trueTimeOf(action.clock);
  const answer = { nonce: "00ff10a5c3", peer: "10.0.0.1" };
  action.run({ type: "AskClock", ...answer });
  const result = action.run({ type: "SetClockBack", to, ...answer });
  demand(result.ok, () => "the signed time is refused");
  action.clock = { ...action.clock, at: to, ahead: 0, isCorrected: false };
  action.dispatch();
  return action.finish();
}
