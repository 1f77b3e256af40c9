import type { LogEnd } from "../shared-log.ts";
import type { LogConnection } from "./log-connection.ts";

/** The version of the tables. Berth 0.2.0 and older, which were never released, wrote 1. */
export const LOG_FORMAT = 2;

const CREATE = `
  CREATE SCHEMA berth;
  CREATE TABLE berth.log (
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    format integer NOT NULL,
    id text NOT NULL,
    appliance text NOT NULL,
    created timestamptz NOT NULL DEFAULT clock_timestamp()
  );
  CREATE TABLE berth.journal (
    seq bigint PRIMARY KEY,
    epoch bigint NOT NULL,
    line text NOT NULL,
    added timestamptz NOT NULL DEFAULT clock_timestamp()
  );
  CREATE TABLE berth.leader (
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    epoch bigint NOT NULL,
    holder text,
    instance text,
    url text,
    until timestamptz NOT NULL,
    term_ms double precision NOT NULL DEFAULT 0,
    successor text,
    successor_until timestamptz,
    head bigint NOT NULL,
    sum text NOT NULL
  );
  CREATE TABLE berth.host (
    name text PRIMARY KEY,
    hardware_id text NOT NULL,
    url text,
    version text NOT NULL,
    seen timestamptz NOT NULL,
    head bigint NOT NULL,
    sum text NOT NULL,
    covered bigint NOT NULL,
    clock_ms bigint NOT NULL
  );
  CREATE TABLE berth.file (
    name text PRIMARY KEY,
    version bigint NOT NULL,
    content bytea NOT NULL
  );`;

/** Creates the tables; the log continues after `end`. */
export async function createLog(
  connection: LogConnection,
  { id, appliance, end }: { readonly id: string; readonly appliance: string; readonly end: LogEnd },
): Promise<void> {
  // Several statements at once are one transaction.
  await connection.runScript(`${CREATE}
    INSERT INTO berth.log (format, id, appliance)
    VALUES (${LOG_FORMAT}, ${quote(id)}, ${quote(appliance)});
    INSERT INTO berth.leader (epoch, until, head, sum)
    VALUES (0, clock_timestamp(), ${end.seq}, ${quote(end.sum)});`);
}

const quote = (text: string): string => `'${text.replaceAll("'", "''")}'`;
