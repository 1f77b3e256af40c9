import { Type, type Static } from "@sinclair/typebox";
import { Elysia } from "elysia";
import type { Instant } from "../../domain/time.ts";
import type { RegistrationView } from "../../domain/views.ts";
import { version } from "../../platform/version.ts";
import type { CertificateView } from "../app.ts";
import { jsonBody } from "../body.ts";
import { describe } from "../describe.ts";
import { unwrap } from "../faults.ts";
import { fields, identifier, licenseId } from "../fields.ts";
import { licenseObject, LicenseObject } from "../license-object.ts";
import { readQuery } from "../query.ts";
import { rfc3339 } from "../../platform/rfc3339.ts";
import { rfc3339OrNull } from "../timestamps.ts";
import type { RouteDeps } from "./deps.ts";

const time = Type.String({ format: "date-time" });
const text = Type.Union([Type.String(), Type.Null()]);

const StatusReply = Type.Object({
  version: Type.String(),
  kind: Type.Union([Type.Literal("site"), Type.Literal("demo")]),
  pid: Type.Integer(),
  now: time,
  created_at: time,
  moved_away_at: Type.Union([time, Type.Null()], {
    description: "When it was given up here, to go on elsewhere; null: it was not.",
  }),
  appliance: Type.Object({
    id: Type.String(),
    hardware_id: Type.String(),
    components: Type.Array(Type.String()),
    weak_binding: Type.Boolean({ description: "Too little of the hardware can be told." }),
  }),
  storage: Type.Object({
    fault: text,
    checkpoint_error: text,
    notes: Type.Array(Type.String()),
    seq: Type.Integer(),
    audit_seq: Type.Integer(),
    journal_bytes: Type.Integer(),
    troubles: Type.Array(Type.Object({ code: Type.String(), message: Type.String() })),
    free_bytes: Type.Union([Type.Integer(), Type.Null()]),
    slowest_sync_ms: Type.Number({ description: "Of the last one to two minutes." }),
  }),
  licenses: Type.Array(
    Type.Object({
      license_id: Type.Integer(),
      product: Type.String(),
      license_type: Type.String(),
      validity_period: Type.Union([time, Type.Null()]),
      refusal: text,
      moved_until: Type.Union([time, Type.Null()], {
        description: "Signed for the host it was moved from, it is good here until then.",
      }),
      vendor: Type.String(),
      serial: Type.Integer(),
      hardware_drift: Type.Array(Type.String(), {
        description: "What it was signed for and the machine no longer has.",
      }),
      floating_users: Type.Integer(),
      floating_slots_in_use: Type.Integer(),
      max_consumptions: Type.Union([Type.Integer(), Type.Null()]),
      total_consumptions: Type.Integer(),
    }),
  ),
  doors: Type.Array(Type.Object({ door: Type.String(), close: Type.String() }), {
    description: "What stands open, and how to close it.",
  }),
  certificate: Type.Union(
    [
      Type.Object({
        ends_at: time,
        state: Type.Union([Type.Literal("ok"), Type.Literal("ending"), Type.Literal("ended")]),
      }),
      Type.Null(),
    ],
    { description: "Of the TLS listener; null: there is none." },
  ),
  refusals: Type.Array(Type.Object({ product: text, code: Type.String(), count: Type.Integer() })),
});

export const Registration = Type.Object({
  product: Type.String(),
  license_id: Type.Integer(),
  user: Type.String(),
  os_hostname: Type.String(),
  ip_local: Type.String(),
  user_info: Type.String(),
  peer: Type.String({ description: "The address its last request came from." }),
  registered_at: time,
  expires_at: time,
  borrowed_until: Type.Union([time, Type.Null()]),
  features: Type.Array(Type.String()),
});

export type StatusReply = Static<typeof StatusReply>;
export type RegistrationReply = Static<typeof Registration>;

const Query = Type.Object({ product: fields.product });
const Release = Type.Object({
  product: fields.product,
  user: fields.user,
  license_id: fields.license_id,
});

/** What the operator's tools read and do; the command line goes through these too. */
export const admin = ({ operations, identity, doors, certificate, peerOf }: RouteDeps) =>
  new Elysia({ name: "admin", prefix: "/api/admin/v1" })
    .get(
      "/status",
      async (): Promise<StatusReply> => {
        const { troubles, freeBytes, slowestSync } = operations.condition();
        const { kind, now, createdAt, health, licenses, refusals } = unwrap(
          await operations.status(),
        );
        return {
          version,
          kind,
          pid: process.pid,
          now: rfc3339(now),
          created_at: rfc3339(createdAt),
          moved_away_at: rfc3339OrNull(operations.retired()?.at ?? null),
          appliance: {
            id: identity.id,
            hardware_id: identity.freeze().hardwareId,
            components: identity.freeze().hardware.map(({ kind }) => kind),
            weak_binding: identity.freeze().weak,
          },
          storage: {
            fault: health.fault?.code ?? null,
            checkpoint_error: health.checkpointError,
            notes: [...health.notes],
            seq: health.seq,
            audit_seq: health.auditSeq,
            journal_bytes: health.journalBytes,
            troubles: troubles.map(({ code, message }) => ({ code, message })),
            free_bytes: freeBytes,
            slowest_sync_ms: Math.round(slowestSync * 10) / 10,
          },
          licenses: licenses.map(
            ({ id, terms, grant, refusal, movedUntil, slotsInUse, total }) => ({
              license_id: id,
              product: terms.product,
              license_type: terms.type,
              validity_period: rfc3339OrNull(terms.validUntil),
              refusal,
              moved_until: rfc3339OrNull(movedUntil),
              vendor: grant.vendor,
              serial: grant.serial,
              hardware_drift: [...identity.matching({ grant }).drifted],
              floating_users: terms.slots,
              floating_slots_in_use: slotsInUse,
              max_consumptions: terms.consumption?.max ?? null,
              total_consumptions: total,
            }),
          ),
          doors: doors().map(({ door, close }) => ({ door, close })),
          certificate: certificateReply(certificate()),
          refusals: refusals.map(({ product, code, count }) => ({ product, code, count })),
        };
      },
      describe({ summary: "How the server is", reply: StatusReply }),
    )
    .get(
      "/licenses",
      async () =>
        unwrap(await operations.licenses()).map((license) => licenseObject(license, null)),
      describe({ summary: "Every license installed", reply: Type.Array(LicenseObject) }),
    )
    .get(
      "/registrations",
      async ({ request }) => {
        const product = identifier("product", readQuery(Query, request).product);
        return unwrap(await operations.registrations(product)).map(registration);
      },
      describe({
        summary: "Who holds what",
        query: Query,
        reply: Type.Array(Registration),
        refuses: ["unknown_product"],
      }),
    )
    .post(
      "/registrations/release",
      async ({ body, request }) => {
        const asked = {
          product: identifier("product", body.product),
          user: identifier("user", body.user),
          licenseId: licenseId(body.license_id),
          by: "admin" as const,
          peer: peerOf(request),
        };
        return unwrap(await operations.unregister(asked));
      },
      {
        ...jsonBody(Release),
        ...describe({
          summary: "Free one user's slot",
          reply: Type.Object({ released: Type.Integer() }),
          refuses: ["missing_parameters", "user_not_registered", "early_return_not_allowed"],
        }),
      },
    );

const certificateReply = (view: CertificateView | null): StatusReply["certificate"] =>
  view === null ? null : { ends_at: rfc3339(view.endsAt as Instant), state: view.state };

export const registration = (held: RegistrationView): RegistrationReply => ({
  product: held.product,
  license_id: held.license,
  user: held.user,
  os_hostname: held.contact.hostname,
  ip_local: held.contact.ip,
  user_info: held.contact.info,
  peer: held.contact.peer,
  registered_at: rfc3339(held.registeredAt),
  expires_at: rfc3339(held.end),
  borrowed_until: rfc3339OrNull(held.borrowedUntil),
  features: [...held.features],
});
