import { DOCUMENT_FAULTS } from "./document-faults.ts";
import type { FaultRow, FaultRows } from "./fault-row.ts";
import type { AnyFault, FaultCode } from "./fault-types.ts";
import { REQUEST_FAULTS } from "./request-faults.ts";
import { RULE_FAULTS } from "./rule-faults.ts";
import { STORAGE_FAULTS } from "./storage-faults.ts";

/** Every fault, with everything that is said about it. A fault without a row does not compile. */
export const FAULTS: FaultRows<FaultCode> = {
  ...REQUEST_FAULTS,
  ...RULE_FAULTS,
  ...DOCUMENT_FAULTS,
  ...STORAGE_FAULTS,
};

export const isFaultCode = (code: string): code is FaultCode => Object.hasOwn(FAULTS, code);

export const messageOf = (fault: AnyFault): string => rowOf(fault).message(fault);

/** Each row takes its own fault: the type of a row that is found by code cannot express that. */
const rowOf = (fault: AnyFault): FaultRow<FaultCode> => FAULTS[fault.code] as FaultRow<FaultCode>;
