import type { BaseEvent } from "../event-base.ts";
import type { StoredStatement } from "./statement-chain.ts";

/** A usage statement for one vendor was signed. It is kept until the vendor acknowledges it. */
export interface StatementMade extends BaseEvent<"StatementMade">, StoredStatement {
  readonly vendor: string;
  readonly peer: string;
}

/** The vendor has this statement and all before it. */
export interface StatementAcknowledged extends BaseEvent<"StatementAcknowledged"> {
  readonly vendor: string;
  readonly n: number;
  readonly digest: string;
  readonly peer: string;
}
