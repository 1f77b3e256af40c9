import { Type, type Static } from "@sinclair/typebox";
import type { EndedPair, Pair, PairHost } from "../../domain/model/pair/pair.ts";
import { At, Hash, type RowOf } from "./basic-rows.ts";

const Hardware = Type.Array(Type.Object({ kind: Type.String(), digest: Hash }));

const PairHostRow = Type.Object({
  name: Type.String(),
  hardwareId: Hash,
  hardware: Hardware,
  admittedAt: At,
} satisfies RowOf<PairHost>);

export const PairRow = Type.Object({
  log: Type.String(),
  epoch: Type.Integer({ minimum: 0 }),
  leader: Type.String(),
  leadsSince: At,
  hosts: Type.Array(PairHostRow),
} satisfies RowOf<Pair>);

export const EndedPairRow = Type.Object({
  log: Type.String(),
  host: Type.String(),
  hardware: Hardware,
  at: At,
} satisfies RowOf<EndedPair>);

export const encodeEndedPair = (ended: EndedPair): Static<typeof EndedPairRow> => ({
  ...ended,
  hardware: [...ended.hardware],
});

export const encodePair = (pair: Pair): Static<typeof PairRow> => ({
  ...pair,
  hosts: [...pair.hosts.values()].map((host) => ({ ...host, hardware: [...host.hardware] })),
});

export const decodePair = (row: Static<typeof PairRow>): Pair => ({
  ...row,
  hosts: new Map(row.hosts.map((host) => [host.name, host])),
});
