// What there is to attack, taken from the route table and from the document that the server shows:
// a route or a field that is added there is attacked from then on.
import { isPage, routes, type Plane } from "../../src/http/planes.ts";

/** One method of one route. */
export interface RoutePlan {
  readonly method: string;
  readonly path: string;
  readonly plane: Plane;
  readonly queryParameters: readonly string[];
  readonly fields: readonly string[];
  /** Takes a document as text or as a form, too. */
  readonly isUpload: boolean;
}

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
      // It has no end to wait for; its gate is every other route's.
      if (path === "/api/admin/v1/stream") return [];
      const body = operation?.requestBody;
      const name = body?.content["application/json"]?.schema.$ref.split("/").at(-1) ?? "";
      const fields = Object.keys(document.components.schemas[name]?.properties ?? {});
      // A body that was not found would be attacked with nothing in it, and nobody would notice.
      if (body !== undefined && fields.length === 0) throw new Error(`${path} shows no fields`);
      const plan = {
        method,
        path,
        plane,
        queryParameters: (operation?.parameters ?? [])
          .filter((parameter) => parameter.in === "query")
          .map(({ name }) => name),
        fields,
        isUpload: body?.["x-also-accepts"]?.includes("text/plain") === true,
      };
      return [plan];
    }),
  );

/** Answered one after the other: asked together, what is measured is the line they stand in. */
export const isAnsweredSerially = ({ path }: RoutePlan): boolean =>
  ["/auth", "/api/admin/v1/access/users", "/api/admin/v1/audit"].includes(path);

/** Walks through all that is kept, and gives way to other answers meanwhile. */
export const scansAllData = ({ path }: Pick<RoutePlan, "path">): boolean =>
  /^\/api\/admin\/v1\/(?:doctor|verify|backup|support-bundle|record\/(?:export|repair|seal))$/.test(
    path,
  );

/** Of the table, what the document does not tell of. HEAD is its GET, and a page is no API. */
export const undocumentedRoutes = (document: ApiDocument): string[] =>
  [...routes].flatMap(([path, planes]) =>
    Object.keys(planes)
      .filter((method) => method !== "HEAD" && !isPage(path))
      .filter((method) => document.paths[path]?.[method.toLowerCase()] === undefined)
      .map((method) => `${method} ${path}`),
  );
