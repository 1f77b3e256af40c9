// The options of `bun run bench`.
import { parseArgs } from "node:util";
import type { OtherExecutable } from "./against.ts";
import { FULL_SIZE, QUICK_SIZE, type BenchSize } from "./bench-part.ts";
import { parsePeers, PEER_OPTIONS, WrongOption, type Peer } from "./peer-options.ts";
import { SERVER_NAMES } from "./servers.ts";

const USUAL_PARTS = [
  "start",
  "speed",
  "growth",
  "metrics",
  "waiting",
  "queue",
  "rules",
  "tables",
  "checkpoints",
  "stalls",
  "slow-disks",
  "pair",
  "desk",
] as const;
/** Needs --against. */
const AGAINST = "against";
export type PartName = (typeof USUAL_PARTS)[number] | typeof AGAINST;

export const USAGE = `bun run bench [--quick] [--part NAME]... [--rounds N] [--only TEXT]...
              [--against FILE [--against-site FOLDER]]
              [--peer NAME=URL [--peer-method METHOD] [--peer-body TEXT] [--peer-header LINE]...]...

  --quick                a few minutes: fewer rounds, fewer registrations
  --part NAME            this part only: ${USUAL_PARTS.join(", ")}
                         or ${AGAINST}; can be repeated
  --rounds N             rounds of each comparison, 1 to 99; use more on a busy machine
  --only TEXT            of the part stalls, the calls whose names contain this; can be repeated
  --against FILE         also compares with another executable of Berth, in the part ${AGAINST}
  --against-site FOLDER  a populated data folder for it, if it cannot read that of this version
  --peer NAME=URL        also sends heartbeats to another server on this machine, in the part speed
  --peer-method METHOD   for the peer before it; the default is POST
  --peer-body TEXT       for the peer before it; the default is the heartbeat of Berth
  --peer-header LINE     for the peer before it, as "NAME: VALUE"; can be repeated

In the URL, the body and the headers of a peer, {user}, {hostname} and {index} are replaced.
To measure the growth of the data folder in a day: bun test/faults/storage-growth/suite.ts`;

export interface BenchOptions {
  readonly quick: boolean;
  readonly parts: readonly PartName[];
  readonly size: BenchSize;
  /** Texts of which one is in the names of the measured heavy calls; empty: all calls. */
  readonly only: readonly string[];
  readonly against: OtherExecutable | null;
  readonly peers: readonly Peer[];
}

/** Throws WrongOption, or the error of parseArgs. */
export function parseOptions(args: readonly string[]): BenchOptions {
  const options = {
    quick: { type: "boolean", default: false },
    part: { type: "string", multiple: true },
    rounds: { type: "string" },
    only: { type: "string", multiple: true },
    against: { type: "string" },
    "against-site": { type: "string" },
    ...PEER_OPTIONS,
  } as const;
  const { values, tokens } = parseArgs({ args: [...args], options, tokens: true });
  const { quick, rounds, only = [] } = values;
  const usual = quick ? QUICK_SIZE : FULL_SIZE;
  if (rounds !== undefined && !/^[1-9]\d?$/.test(rounds))
    throw new WrongOption(`--rounds must be 1 to 99: ${rounds}`);
  const against = parseAgainst(values.against, values["against-site"]);
  const peers = parsePeers(
    tokens.flatMap((token) =>
      token.kind === "option" && token.value !== undefined
        ? [{ ...token, value: token.value }]
        : [],
    ),
    SERVER_NAMES,
  );
  const parts = parseParts(values.part, against !== null);
  if (peers.length > 0 && !parts.includes("speed"))
    throw new WrongOption("--peer needs the part speed");
  if (only.length > 0 && !parts.includes("stalls"))
    throw new WrongOption("--only needs the part stalls");
  return {
    quick,
    parts,
    size: { ...usual, rounds: Number(rounds ?? usual.rounds) },
    only,
    against,
    peers,
  };
}

function parseAgainst(file: string | undefined, site: string | undefined): OtherExecutable | null {
  if (file !== undefined) return { file, site: site ?? null };
  if (site !== undefined) throw new WrongOption("--against-site needs --against FILE");
  return null;
}

function parseParts(names: readonly string[] | undefined, hasAgainst: boolean): PartName[] {
  const allParts: readonly PartName[] = [...USUAL_PARTS, AGAINST];
  const parts = (names ?? USUAL_PARTS).map((name) => {
    const part = allParts.find((known) => known === name);
    if (part === undefined) throw new WrongOption(`unknown part: ${name}`);
    return part;
  });
  if (hasAgainst) return [...new Set<PartName>([...parts, AGAINST])];
  if (parts.includes(AGAINST)) throw new WrongOption(`the part ${AGAINST} needs --against FILE`);
  return parts;
}
