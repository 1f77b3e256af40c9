import type { FaultCode, FaultWithCode } from "./fault-types.ts";

/** Everything that is said about one fault, to all its readers. */
interface FaultTexts<C extends FaultCode> {
  /** The HTTP status. */
  readonly status: number;
  /** Says what helps. Never repeats input from the request and never quotes an exception. */
  readonly message: (fault: FaultWithCode<C>) => string;
  /** The message at the command line, if the other one has words that only the API uses. */
  readonly commandLineMessage?: (fault: FaultWithCode<C>) => string;
  /** The field of the request that is wrong, where the fault itself does not name it. */
  readonly field?: string | ((fault: FaultWithCode<C>) => string);
  /** What helps at the command line. */
  readonly hint?: string | ((fault: FaultWithCode<C>) => string);
}

type Facts<C extends FaultCode> = Omit<FaultWithCode<C>, "code">;

/** Facts for the example in the OpenAPI document. */
type Sample<C extends FaultCode> =
  Partial<Facts<C>> extends Facts<C>
    ? { readonly sample?: Facts<C> }
    : { readonly sample: Facts<C> };

export type FaultRow<C extends FaultCode> = FaultTexts<C> & Sample<C>;

/** One row for each of these codes: a missing row and an unknown code do not compile. */
export type FaultRows<C extends FaultCode> = { readonly [K in C]: FaultRow<K> };
