import { Elysia, NotFoundError } from "elysia";
import type { AnyFault } from "../faults/fault-types.ts";
import { log } from "../platform/log.ts";
import { JSON_TYPE } from "./request/body.ts";
import { describeRoute, type ClientRoutes } from "./openapi/describe-route.ts";
import { addDoneBefore, faultOf, refusalReplyFor } from "./faults.ts";
import { admit, type Gate } from "./access/gate.ts";
import {
  LEADER_HEADER,
  refuseLateReply,
  refuseOnStandby,
  replaceLateFault,
} from "./access/standby.ts";
import { buildOpenapiDocument, OpenapiDocument } from "./openapi/openapi.ts";
import { makeStandbyPage, standbyPageHeaders } from "./page/standby-page.ts";
import { replyWithFile, serveText, type ServedFile } from "./page/served-file.ts";
import { APPLIANCE_HEADER } from "./appliance-header.ts";
import { buildRouteTable, type RouteTable } from "./access/route-table.ts";
import { access } from "./routes/access/access.ts";
import { auth } from "./routes/access/auth.ts";
import { sessions } from "./routes/access/sessions.ts";
import { move } from "./routes/appliance/move.ts";
import { setKeys } from "./routes/appliance/set-keys.ts";
import { auditLog } from "./routes/audit/audit-log.ts";
import { auditMaintenance } from "./routes/audit/audit-maintenance.ts";
import { backups } from "./routes/backups/backups.ts";
import { clock } from "./routes/clock/clock.ts";
import { addConsumption } from "./routes/consumption/add-consumption.ts";
import { addFeatureConsumption } from "./routes/consumption/add-feature-consumption.ts";
import { createRequestContext, type RouteDeps } from "./routes/deps.ts";
import { featureRegister } from "./routes/features/feature-register.ts";
import { featureRelease } from "./routes/features/feature-release.ts";
import { events } from "./routes/health/events.ts";
import { health } from "./routes/health/health.ts";
import { maintenance } from "./routes/health/maintenance.ts";
import { metrics } from "./routes/health/metrics.ts";
import { status } from "./routes/health/status.ts";
import { licenseList } from "./routes/licenses/license-list.ts";
import { licenseRemove } from "./routes/licenses/license-remove.ts";
import { licenseUpload } from "./routes/licenses/license-upload.ts";
import { license } from "./routes/licenses/license.ts";
import { page } from "./routes/page/page.ts";
import { stream } from "./routes/page/stream.ts";
import { pair } from "./routes/pair/pair.ts";
import { queue } from "./routes/queue/queue.ts";
import { airgapGenerate } from "./routes/requests/airgap-generate.ts";
import { airgapLicense } from "./routes/requests/airgap-license.ts";
import { licenseGenerate } from "./routes/requests/license-generate.ts";
import { qr } from "./routes/requests/qr.ts";
import { requests } from "./routes/requests/requests.ts";
import { rules } from "./routes/rules/rules.ts";
import { settings } from "./routes/settings/settings.ts";
import { borrow } from "./routes/slots/borrow.ts";
import { register } from "./routes/slots/register.ts";
import { registrationsChanges } from "./routes/slots/registrations-changes.ts";
import { registrationsRelease } from "./routes/slots/registrations-release.ts";
import { registrationsSlice } from "./routes/slots/registrations-slice.ts";
import { registrations } from "./routes/slots/registrations.ts";
import { unregisterAll } from "./routes/slots/unregister-all.ts";
import { unregister } from "./routes/slots/unregister.ts";
import { statements } from "./routes/statements/statements.ts";
import { trust } from "./routes/trust/trust.ts";
import { report } from "./routes/usage/report.ts";
import { usage } from "./routes/usage/usage.ts";
import type { Services } from "./services.ts";

// In groups: the type of one chain of all routes is too deep for the compiler.

const applicationRoutes = (deps: RouteDeps) =>
  new Elysia({ name: "application-routes" })
    .use(register(deps))
    .use(borrow(deps))
    .use(unregister(deps))
    .use(unregisterAll(deps))
    .use(addConsumption(deps))
    .use(addFeatureConsumption(deps))
    .use(featureRegister(deps))
    .use(featureRelease(deps))
    .use(license(deps));

const licenseRoutes = (deps: RouteDeps) =>
  new Elysia({ name: "license-routes" })
    .use(licenseGenerate(deps))
    .use(licenseUpload(deps))
    .use(airgapGenerate(deps))
    .use(airgapLicense(deps))
    .use(setKeys(deps))
    .use(clock(deps))
    .use(move(deps))
    .use(trust(deps))
    .use(statements(deps))
    .use(licenseRemove(deps))
    .use(requests(deps));

const registrationRoutes = (deps: RouteDeps) =>
  new Elysia({ name: "registration-routes" })
    .use(registrationsSlice(deps))
    .use(registrationsChanges(deps))
    .use(registrationsRelease(deps))
    .use(queue(deps));

const operatorRoutes = (deps: RouteDeps) =>
  new Elysia({ name: "operator-routes" })
    .use(auth(deps))
    .use(access(deps))
    .use(sessions(deps))
    .use(auditLog(deps))
    .use(auditMaintenance(deps))
    .use(status(deps))
    .use(licenseList(deps))
    .use(registrations(deps))
    .use(stream(deps))
    .use(usage(deps))
    .use(report(deps))
    .use(settings(deps))
    .use(rules(deps))
    .use(maintenance(deps))
    .use(backups(deps))
    .use(events(deps))
    .use(pair(deps));

/** Builds the HTTP app without a listener, so tests call it as a server would. */
export function createApp(services: Services, gate: Gate) {
  const deps: RouteDeps = { ...services, ...createRequestContext(gate) };
  let routeTable: RouteTable = new Map();
  const { leadership } = services;
  const applianceId = services.identity.id;
  const base = new Elysia({
    normalize: false,
    // Where the framework begins to search the path of a URL. The default is too late for a host
    // name of up to three letters on port 80; see withLongHostName in server.ts for https.
    handler: { standardHostname: gate.isTls },
  })
    // Before routing, so that no route can be reached past the gate.
    .onRequest(({ request, set }) => {
      set.headers["cache-control"] = "no-store";
      set.headers["x-content-type-options"] = "nosniff";
      set.headers["x-request-id"] = nextRequestId();
      set.headers[APPLIANCE_HEADER] = applianceId;
      admit(gate, routeTable, request);
      if (leadership !== null) refuseOnStandby(leadership, request);
    })
    .onError({ as: "global" }, ({ error, set, request }) => {
      const fault = toFault(error);
      return replyWithFault(
        leadership === null ? fault : replaceLateFault(leadership, request, fault),
        { error, set, request },
      );
    });
  if (leadership !== null) {
    base.onAfterHandle({ as: "global" }, ({ request }) => refuseLateReply(leadership, request));
  }
  const app = base
    .use(page(deps))
    .use(health(deps))
    .use(metrics(deps))
    .use(applicationRoutes(deps))
    .use(licenseRoutes(deps))
    .use(registrationRoutes(deps))
    .use(operatorRoutes(deps))
    .use(qr());
  // Built once: every client may request it, and building it takes as long as ten other replies.
  let document: ServedFile | null = null;
  const completeApp = app.get(
    "/api/v4/openapi.json",
    ({ request }) => {
      document ??= serveText(JSON_TYPE, JSON.stringify(buildOpenapiDocument(app)));
      return replyWithFile(request, document, { "cache-control": "no-cache" });
    },
    describeRoute({
      plane: "open",
      id: "getOpenapi",
      summary: "Get this OpenAPI document",
      reply: OpenapiDocument,
    }),
  );
  routeTable = buildRouteTable(completeApp);
  return completeApp;
}

/** The type for a typed client. */
export type App =
  ReturnType<typeof createApp> extends Elysia<
    infer Base,
    infer Singleton,
    infer Definitions,
    infer Metadata,
    infer Routes,
    infer Ephemeral,
    infer Volatile
  >
    ? Elysia<Base, Singleton, Definitions, Metadata, ClientRoutes<Routes>, Ephemeral, Volatile>
    : never;

const BASIC_CHALLENGE = 'Basic realm="berth", charset="UTF-8"';

interface ResponseHead {
  status?: number | string;
  headers: Record<string, string | number | undefined>;
}

/** The fault of everything that is thrown. An error that is not a fault is a bug. */
const toFault = (error: unknown): AnyFault =>
  faultOf(error) ??
  (error instanceof NotFoundError ? { code: "not_found" } : { code: "internal_error" });

interface FailedRequest {
  readonly error: unknown;
  readonly set: ResponseHead;
  readonly request: Request;
}

/** Of a bug, the reply says only that there was one; the log has the error. */
function replyWithFault(fault: AnyFault, { error, set, request }: FailedRequest): object | string {
  if (fault.code === "internal_error") {
    log.error("internal error", { request_id: set.headers["x-request-id"], error });
  }
  if (fault.code === "method_not_allowed") set.headers["allow"] = fault.allow.join(", ");
  if (fault.code === "unauthorized") {
    set.headers["www-authenticate"] = fault.plane === undefined ? BASIC_CHALLENGE : "Bearer";
  }
  if (fault.code === "standby" && fault.url !== undefined) set.headers[LEADER_HEADER] = fault.url;
  if (fault.code === "too_many_requests") set.headers["retry-after"] = "60";
  if ("retryAfterSeconds" in fault) set.headers["retry-after"] = fault.retryAfterSeconds;
  const body = addDoneBefore(refusalReplyFor(request, fault), error);
  set.status = body.status;
  const page = makeStandbyPage(request, fault);
  if (page === null) return body;
  Object.assign(set.headers, standbyPageHeaders(request));
  return page;
}

const processId = crypto.randomUUID().slice(0, 8);
let requestCount = 0;

const nextRequestId = (): string => `${processId}-${(requestCount += 1)}`;
