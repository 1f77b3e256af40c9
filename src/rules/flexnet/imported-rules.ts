import type { PoolName } from "../../domain/model/slots/pool-name.ts";

/** A group of the rules that an import makes. */
export interface ImportedGroup {
  readonly name: string;
  readonly users: Set<string>;
  readonly hosts: Set<string>;
  readonly networks: Set<string>;
  ignoreCase: boolean;
  readonly lines: Set<number>;
}

/**
 * The rules for one product or floating feature. What several features of the options file say
 * is kept apart until it is written, because FlexNet counts each of them by itself.
 */
export interface ImportedPool extends PoolName {
  /** The features of the options file that became this product, sorted. */
  readonly sources: Set<string>;
  readonly deny: Set<string>;
  readonly allowOnly: Set<string>;
  /** Lines that let in certain callers only, also those without an equivalent. */
  includeLines: number;
  /** Slots by group, then by feature of the options file. */
  readonly reserve: Map<string, Map<string, number>>;
  eachUser: number | null;
  readonly groupLimits: Map<string, number>;
  readonly borrowDeny: Set<string>;
  readonly borrowAllowOnly: Set<string>;
  /** Hours by feature of the options file. */
  readonly maxHours: Map<string, number>;
  /** Slots by feature of the options file. */
  readonly keepHome: Map<string, number>;
  readonly lines: Set<number>;
}

/** What to know of the conversion of a line, or of the whole file. */
export interface ImportNote {
  /** Null: it is about the whole file. */
  readonly line: number | null;
  readonly text: string;
}

export interface UnconvertedLine {
  readonly line: number;
  /** The lines that a backslash joins count as one. */
  readonly lastLine: number;
  readonly text: string;
  readonly reason: string;
}

export const createPool = (target: PoolName): ImportedPool => ({
  ...target,
  sources: new Set(),
  deny: new Set(),
  allowOnly: new Set(),
  includeLines: 0,
  reserve: new Map(),
  eachUser: null,
  groupLimits: new Map(),
  borrowDeny: new Set(),
  borrowAllowOnly: new Set(),
  maxHours: new Map(),
  keepHome: new Map(),
  lines: new Set(),
});
