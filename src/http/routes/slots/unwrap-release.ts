import { pluralize } from "../../../domain/model/event-texts.ts";
import type { Result } from "../../../domain/result.ts";
import type { AllReleased, IncompleteRelease } from "../../../operations/slots/slots.ts";
import { refuse } from "../../faults.ts";

/** A refusal says how many slots were released before. */
export function unwrapRelease(result: Result<AllReleased, IncompleteRelease>): AllReleased {
  if (result.ok) return result.value;
  const { cause, released } = result.fault;
  const verb = released === 1 ? "was" : "were";
  return refuse(cause, released === 0 ? "" : `${pluralize(released, "slot")} ${verb} released`);
}
