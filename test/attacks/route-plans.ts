// The routes to attack, taken from the route table and from openapi.json: a new route or field is
// attacked without a change here.
import { PAGE_PATHS, routes } from "../support/routes.ts";
import type { Plane } from "../../src/http/access/planes.ts";

/** One method of one route. */
export interface RoutePlan {
  readonly method: string;
  readonly path: string;
  readonly plane: Plane;
  readonly queryParameters: readonly string[];
  readonly fields: readonly string[];
  /** Accepts a document as text or as a form too. */
  readonly isUpload: boolean;
  /** Replaces something, which a header must name. */
  readonly requiresIfMatch: boolean;
}

export const hasBody = ({ method }: Pick<RoutePlan, "method">): boolean =>
  method === "POST" || method === "PUT";

/** A body may be larger than that of any other route. */
export const takesLongTexts = ({ path }: Pick<RoutePlan, "path">): boolean =>
  path === "/api/admin/v1/rules" || path === "/api/admin/v1/rules/check";

interface Operation {
  readonly parameters?: readonly { readonly name: string; readonly in: string }[];
  readonly requestBody?: {
    readonly content: Readonly<Record<string, { readonly schema: { readonly $ref: string } }>>;
    readonly "x-also-accepts"?: readonly string[];
  };
}

export interface ApiDocument {
  readonly components: { readonly schemas: Readonly<Record<string, { properties?: object }>> };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

export const planRoutes = (document: ApiDocument): RoutePlan[] =>
  [...routes].flatMap(([path, planes]) =>
    Object.entries(planes).flatMap(([method, plane]) => {
      const operation = document.paths[path]?.[method.toLowerCase()];
      // Its answer never ends. It has the same gate as every other route.
      if (path === "/api/admin/v1/stream") return [];
      const body = operation?.requestBody;
      const name = body?.content["application/json"]?.schema.$ref.split("/").at(-1) ?? "";
      const fields = Object.keys(document.components.schemas[name]?.properties ?? {});
      // Without this error, a body whose schema was not found would be attacked without fields.
      if (body !== undefined && fields.length === 0)
        throw new Error(`openapi.json has no fields for the body of ${path}`);
      const plan = {
        method,
        path,
        plane,
        queryParameters: (operation?.parameters ?? [])
          .filter((parameter) => parameter.in === "query")
          .map(({ name }) => name),
        fields,
        isUpload: body?.["x-also-accepts"]?.includes("text/plain") === true,
        requiresIfMatch: (operation?.parameters ?? []).some(
          (parameter) => parameter.name === "If-Match",
        ),
      };
      return [plan];
    }),
  );

/** Answered one at a time: sent together, their times would measure the queue. */
export const isAnsweredSerially = ({ path }: RoutePlan): boolean =>
  ["/auth", "/api/admin/v1/access/users", "/api/admin/v1/audit"].includes(path);

/** Scans all stored data, and yields to other requests meanwhile. */
export const scansAllData = ({ path }: Pick<RoutePlan, "path">): boolean =>
  /^\/api\/admin\/v1\/(?:doctor|verify|backups?|support-bundle|usage\/rebuild|audit\/(?:export|repair|seal))$/.test(
    path,
  );

/** Routes of the table that openapi.json lacks. HEAD is covered by GET, and pages are no API. */
export const undocumentedRoutes = (document: ApiDocument): string[] =>
  [...routes].flatMap(([path, planes]) =>
    Object.keys(planes)
      .filter((method) => method !== "HEAD" && !PAGE_PATHS.includes(path))
      .filter((method) => document.paths[path]?.[method.toLowerCase()] === undefined)
      .map((method) => `${method} ${path}`),
  );
