// What an answer must look like, whatever the request was.
import type { FaultCode } from "../../src/faults/fault-types.ts";
import { httpStatusOf } from "../../src/http/faults.ts";
import { canaries } from "./odd-values.ts";
import type { AttackRequest } from "./request-grammar.ts";
import type { RawAnswer } from "./raw-connection.ts";

const FIELDS = ["code", "message", "status"];

/** Describes what is wrong with an answer; null: nothing. */
export function findAnswerProblem(
  { method, mustRefuse }: Pick<AttackRequest, "method" | "mustRefuse">,
  answer: RawAnswer | null,
): string | null {
  if (answer === null) return "was not answered";
  const { status } = answer;
  if (status >= 500 && !isBusy(answer)) return `is answered ${status}`;
  if (status < 200 || (status >= 300 && status < 400)) return `is answered ${status}`;
  if (status < 300) return mustRefuse ? "is granted" : findExcess(answer.body);
  return method === "HEAD" ? findHeadProblem(answer) : findRefusalProblem(answer);
}

/** Only reports and other long jobs are refused with it, and with the time of another try. */
const isBusy = ({ status, head, body }: RawAnswer): boolean =>
  status === 503 && /^retry-after: \d+\r?$/im.test(head) && body.includes('"too_many_jobs"');

function findRefusalProblem({ status, head, body }: RawAnswer): string | null {
  if (!/^content-type: application\/json/im.test(head)) return "is refused, but not in JSON";
  const refusal = parseObject(body);
  if (refusal === null) return "is refused, but not in JSON";
  const { field, queue, ...always } = refusal;
  if (field !== undefined && typeof field !== "string") return "is refused with another field";
  const hasPlace = /^preference-applied: wait/im.test(head);
  if (hasPlace !== (queue !== undefined)) return "is refused with a place that it does not have";
  if (Object.keys(always).toSorted().join() !== FIELDS.join())
    return "is refused with other fields";
  const { code, message } = refusal;
  if (refusal["status"] !== status) return "is refused with a status in the body that differs";
  if (typeof message !== "string" || message === "") return "is refused without a message";
  if (!isKnownCode(code, status)) return `is refused with an unknown code: ${String(code)}`;
  return findEcho(withoutIgnoredFields(head)) ?? findEcho(body);
}

/**
 * This header repeats names of fields by design, bounded and in harmless characters; never a value.
 */
const withoutIgnoredFields = (head: string): string =>
  head.replace(/^x-ignored-fields: [\w.-]{1,64}(?:, [\w.-]{1,64}){0,7}\r?$/im, "");

const findHeadProblem = ({ head, body }: RawAnswer): string | null =>
  body === "" ? findEcho(withoutIgnoredFields(head)) : "has a body";

const findEcho = (text: string): string | null =>
  canaries.some((canary) => text.toLowerCase().includes(canary))
    ? "repeats a value of the request"
    : null;

function isKnownCode(code: unknown, status: number): boolean {
  try {
    return httpStatusOf(code as FaultCode) === status;
  } catch {
    return false;
  }
}

/** The code of a refusal, for counting; its status if it has no code. */
export function refusalCode({ status, body }: RawAnswer): string {
  const code = parseObject(body)?.["code"];
  return typeof code === "string" ? code : String(status);
}

/** No answer may show more slots or consumption than the license has. */
function findExcess(body: string): string | null {
  if (!body.startsWith("{")) return null;
  const reply = parseObject(body);
  if (reply === null) return "is granted in broken JSON";
  const { floating_slots_in_use: used, floating_users: slots } = reply;
  if (typeof used === "number" && used > Number(slots))
    return "shows more slots in use than there are";
  const { total_consumptions: total, max_consumptions: max, max_overages: over } = reply;
  if (typeof total !== "number" || typeof max !== "number") return null;
  return total < 0 || total > max + Number(over ?? 0)
    ? "shows more consumption than the license has"
    : null;
}

function parseObject(body: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}
