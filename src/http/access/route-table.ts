import type { TObject } from "@sinclair/typebox";
import type { AnyElysia } from "elysia";
import type { RouteDetail } from "../openapi/describe-route.ts";
import { refuse } from "../faults.ts";
import type { Plane } from "./planes.ts";

export type Method = "GET" | "HEAD" | "POST" | "PUT";

/** What the gate and the access log know of a route. */
export interface RouteAccess {
  /** The path in the route table, with the names of its variable parts. */
  readonly pattern: string;
  readonly plane: Plane;
  /** A page for browsers, or a file of one: other sites may link to it. */
  readonly isPage: boolean;
  readonly changesState: boolean;
  /** Downloads that contain secrets are POST routes, so viewers do not get them. */
  readonly allowsViewers: boolean;
  /** Tokens with the role metrics may call it. */
  readonly allowsMetrics: boolean;
  /** A host of a pair that does not lead answers it too. */
  readonly answersOnStandby: boolean;
}

/** By path, then by method in alphabetical order. */
export type RouteTable = ReadonlyMap<string, Readonly<Partial<Record<Method, RouteAccess>>>>;

/**
 * Reads from the app who may call its routes. A route that was described without `describeRoute`
 * has no plane: it is left out, and so gets 404.
 */
export function buildRouteTable(app: AnyElysia): RouteTable {
  const entries = describedRoutes(app).flatMap((route) => {
    const { path, method, detail } = route;
    const { plane, isPage = false, answersHead = false } = detail;
    const isChange = changesState(route);
    const allowsViewers = !isChange || detail.allowsViewers === true;
    const access: RouteAccess = {
      pattern: path,
      plane,
      isPage,
      changesState: isChange,
      allowsViewers,
      allowsMetrics: detail.allowsMetrics === true,
      answersOnStandby: detail.answersOnStandby === true,
    };
    const methods: Method[] = answersHead ? [method, "HEAD"] : [method];
    return methods.map((name) => ({ path, method: name, access }));
  });
  const byPath = Map.groupBy(entries, ({ path }) => path);
  return new Map(
    [...byPath].map(([path, routes]) => [
      path,
      Object.fromEntries(
        routes
          .toSorted((a, b) => (a.method < b.method ? -1 : 1))
          .map(({ method, access }) => [method, access]),
      ),
    ]),
  );
}

/** One method of a path. */
export interface DescribedRoute {
  readonly path: string;
  readonly method: Method;
  readonly detail: RouteDetail;
  readonly body: TObject | undefined;
}

/** The routes of an app that have a plane. */
export const describedRoutes = (app: AnyElysia): DescribedRoute[] =>
  app.routes.flatMap(({ method, path, hooks }) => {
    const { detail, body } = hooks as { detail?: Partial<RouteDetail>; body?: TObject };
    if (detail?.plane === undefined) return [];
    return { path, method: method as Method, detail: { ...detail, plane: detail.plane }, body };
  });

export const changesState = ({ method, detail }: DescribedRoute): boolean =>
  (method !== "GET" && detail.changesNothing !== true) || detail.changesByGet === true;

/** Refuses an unknown path with 404, and a method that the path does not have with 405. */
export function findRoute(table: RouteTable, method: string, path: string): RouteAccess {
  const methods = table.get(path) ?? table.get(patternOf(path)) ?? refuse({ code: "not_found" });
  const route = Object.hasOwn(methods, method) ? methods[method as Method] : undefined;
  return route ?? refuse({ code: "method_not_allowed", allow: Object.keys(methods) });
}

/** The only route whose path has a variable part: the files of the pages. */
const ASSET = /^\/assets\/[\w.-]+$/;

const patternOf = (path: string): string => (ASSET.test(path) ? "/assets/:name" : path);

/**
 * The path as the router gets it: not decoded, and normalized by the runtime only. So the gate and
 * the router always see the same path.
 */
export function pathOf(url: string): string {
  const start = url.indexOf("/", url.indexOf("//") + 2);
  const query = url.indexOf("?", start);
  return start < 0 ? "/" : url.slice(start, query < 0 ? undefined : query);
}
