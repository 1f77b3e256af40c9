// What an answer must look like, whatever was asked.
import { httpStatusOf, type FaultCode } from "../../src/http/faults.ts";
import { canaries } from "./odd-values.ts";
import type { AttackRequest } from "./request-grammar.ts";
import type { RawAnswer } from "./raw-connection.ts";

const FIELDS = ["code", "message", "status"];

/** What is wrong with an answer; null: nothing. */
export function findAnswerProblem(
  { method, mustRefuse }: Pick<AttackRequest, "method" | "mustRefuse">,
  answer: RawAnswer | null,
): string | null {
  if (answer === null) return "was not answered";
  const { status } = answer;
  if (status >= 500) return `is answered ${status}`;
  if (status < 200 || (status >= 300 && status < 400)) return `is answered ${status}`;
  if (status < 300) return mustRefuse ? "is granted" : overdrawn(answer.body);
  return method === "HEAD" ? headComplaint(answer) : refusalComplaint(answer);
}

function refusalComplaint({ status, head, body }: RawAnswer): string | null {
  if (!/^content-type: application\/json/im.test(head)) return "is refused, but not in JSON";
  const refused = parsed(body);
  if (refused === null) return "is refused, but not in JSON";
  if (Object.keys(refused).toSorted().join() !== FIELDS.join()) return "is refused in other fields";
  const { code, message } = refused;
  if (refused["status"] !== status) return "is refused with two statuses";
  if (typeof message !== "string" || message === "") return "is refused without a word";
  if (!isKnown(code, status)) return `is refused with a code of nobody's: ${String(code)}`;
  return echoIn(withoutIgnoredFields(head)) ?? echoIn(body);
}

/** It repeats names of fields by design, of harmless characters and bounded; never a value. */
const withoutIgnoredFields = (head: string): string =>
  head.replace(/^x-ignored-fields: [\w.-]{1,64}(?:, [\w.-]{1,64}){0,7}\r?$/im, "");

const headComplaint = ({ head, body }: RawAnswer): string | null =>
  body === "" ? echoIn(withoutIgnoredFields(head)) : "has a body";

const echoIn = (text: string): string | null =>
  canaries.some((canary) => text.toLowerCase().includes(canary)) ? "is sung back" : null;

function isKnown(code: unknown, status: number): boolean {
  try {
    return httpStatusOf(code as FaultCode) === status;
  } catch {
    return false;
  }
}

/** The code of a refusal, for counting; its status where it has none. */
export function refusalCode({ status, body }: RawAnswer): string {
  const code = parsed(body)?.["code"];
  return typeof code === "string" ? code : String(status);
}

/** No answer may tell of more than the license has. */
function overdrawn(body: string): string | null {
  if (!body.startsWith("{")) return null;
  const reply = parsed(body);
  if (reply === null) return "is granted in broken JSON";
  const { floating_slots_in_use: used, floating_users: slots } = reply;
  if (typeof used === "number" && used > Number(slots)) return "lends more than there is";
  const { total_consumptions: total, max_consumptions: max, max_overages: over } = reply;
  if (typeof total !== "number" || typeof max !== "number") return null;
  return total < 0 || total > max + Number(over ?? 0) ? "counts more than there is" : null;
}

function parsed(body: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}
