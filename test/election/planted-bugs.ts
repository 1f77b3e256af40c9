import type { PlantedBug } from "../support/planted-bugs.ts";

/** Each of them breaks a promise of a pair, and the simulation must notice it. */
export const PLANTED_BUGS: readonly PlantedBug[] = [
  {
    name: "a leader answers longer than its term",
    in: "Term.extend",
    find: "sentAt + termMs - Math.min(MAX_MARGIN_MS, termMs * MARGIN_SHARE)",
    replace: "sentAt + 2 * termMs",
  },
  {
    name: "the term counts from the reply to the renewal",
    in: "Leadership.#extendTerm",
    find: "this.#term.extend(sentAt)",
    replace: "this.#term.extend(bootMs())",
  },
  {
    name: "a host answers after its term, until it notices",
    in: "Leadership.mayAnswer",
    find: 'this.#role.role === "leader" && this.#term.isLasting',
    replace: 'this.#role.role === "leader"',
  },
  {
    name: "a term counts as lapsed when it is first seen",
    in: "ObservedTerm.note",
    find: "receivedAt + termMs",
    replace: "receivedAt",
  },
  {
    name: "a term that is renewed counts as the same one",
    in: "ObservedTerm.note",
    find: "term === this.#term",
    replace: "this.#term !== null",
  },
  {
    name: "a host answers after it released its term",
    in: "Leadership.#release",
    find: 'this.#endTerm({ code: "standby" })',
    replace: "void 0",
  },
  {
    name: "an exception in a step ends the loop",
    in: "Leadership.#exclusively",
    find: "this.#problem.note(error, this.#reports.standbyProblem)",
    replace: "new Promise<void>(() => void error)",
  },
  {
    name: "a host whose store failed keeps its term",
    in: "Leadership.#renew",
    find: "if (fault !== null) return this.#giveUp(epoch, fault);",
    replace: "",
  },
];
