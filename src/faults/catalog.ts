import { DOCUMENT_FAULTS } from "./document-faults.ts";
import type { FaultRow, FaultRows } from "./fault-row.ts";
import type { AnyFault, FaultCode } from "./fault-types.ts";
import { ADMISSION_FAULTS, HAND_OVER_FAULTS } from "./pair-faults.ts";
import { REQUEST_FAULTS } from "./request-faults.ts";
import { RULE_FAULTS } from "./rule-faults.ts";
import { SETTING_FAULTS } from "./setting-faults.ts";
import { STORAGE_FAULTS } from "./storage-faults.ts";

/** Every fault, with everything that is said about it. A fault without a row does not compile. */
export const FAULTS: FaultRows<FaultCode> = {
  ...REQUEST_FAULTS,
  ...SETTING_FAULTS,
  ...RULE_FAULTS,
  ...DOCUMENT_FAULTS,
  ...STORAGE_FAULTS,
  ...HAND_OVER_FAULTS,
  ...ADMISSION_FAULTS,
};

export const messageOf = (fault: AnyFault): string => rowOf(fault).message(fault);

/** The one field of the request that is wrong; null: none, or more than one. */
export function wrongFieldOf(fault: AnyFault): string | null {
  if ("field" in fault) return fault.field;
  if (!("fields" in fault)) {
    const { field = null } = rowOf(fault);
    return typeof field === "function" ? field(fault) : field;
  }
  const names =
    fault.code === "invalid_type"
      ? [...fault.fields, ...(fault.numbers ?? []), ...(fault.booleans ?? [])]
      : fault.fields;
  return names.length === 1 ? (names[0] ?? null) : null;
}

/** The message and the hint of a fault at the command line. */
export interface CommandLineTexts {
  readonly message: string;
  /** Empty: no command helps. */
  readonly hint: string;
}

export function describeForCommandLine(fault: AnyFault): CommandLineTexts {
  const { message, commandLineMessage = message, hint = "" } = rowOf(fault);
  return {
    message: commandLineMessage(nameFieldsInWords(fault)),
    hint: typeof hint === "string" ? hint : hint(fault),
  };
}

const inWords = (field: string): string => field.replaceAll("_", " ");

/** Flags and arguments do not have the names of the API's fields: `license_id` is a license id. */
function nameFieldsInWords(fault: AnyFault): AnyFault {
  if ("field" in fault) return { ...fault, field: inWords(fault.field) };
  return "fields" in fault ? { ...fault, fields: fault.fields.map(inWords) } : fault;
}

/** Each row takes its own fault: the type of a row that is found by code cannot express that. */
const rowOf = (fault: AnyFault): FaultRow<FaultCode> => FAULTS[fault.code] as FaultRow<FaultCode>;
