import { Type, type TSchema } from "@sinclair/typebox";
import type { Instant } from "../../domain/time.ts";

export const At = Type.Unsafe<Instant>(Type.Integer());
export const MaybeAt = Type.Union([At, Type.Null()]);
export const Hash = Type.String({ pattern: "^[0-9a-f]{64}$" });
export const Seq = Type.Integer({ minimum: 0 });

/** A row has a schema for every member of its type; one without does not compile. */
export type RowOf<T, Owner extends string = never> = Readonly<Record<keyof T | Owner, TSchema>>;
