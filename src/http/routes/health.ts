import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { describe } from "../describe.ts";
import { refuse } from "../faults.ts";
import type { RouteDeps } from "./deps.ts";

export const health = ({ operations }: RouteDeps) =>
  new Elysia({ name: "health" }).get(
    "/api/v4/health",
    () => {
      const { fault } = operations.health();
      return fault === null ? { status: "ok" } : refuse(fault);
    },
    describe({
      summary: "Is it ready?",
      description: "503 while it cannot write.",
      reply: Type.Object({ status: Type.Literal("ok") }),
      refuses: ["storage_full", "storage_failed"],
    }),
  );
