import type { Event } from "../../domain/model/event.ts";
import type { State } from "../../domain/model/state.ts";

/** Why a slot ended. */
export const RELEASE_CAUSES = ["user", "admin", "expiry"] as const;

type ReleaseCounts = Record<(typeof RELEASE_CAUSES)[number], number>;

interface LicenseCounts {
  grants: number;
  readonly releases: ReleaseCounts;
}

/** Counts what was written since the start: slots taken and ended, by license and by feature. */
export class ChangeCounters {
  readonly #licenses = new Map<number, LicenseCounts>();
  readonly #featureGrants = new Map<string, number>();
  readonly #featureReleases = new Map<string, ReleaseCounts>();

  /** `state` is the state after the event. */
  count(event: Event, state: State): void {
    switch (event.type) {
      case "SlotTaken":
        this.ofLicense(event.license).grants += 1;
        return;
      case "SlotReleased":
        this.ofLicense(event.license).releases[event.by] += 1;
        return;
      case "SlotExpired":
        this.ofLicense(event.license).releases.expiry += 1;
        return;
      case "FeatureTaken": {
        const key = featureKey(productOf(state, event.license), event.feature);
        this.#featureGrants.set(key, (this.#featureGrants.get(key) ?? 0) + 1);
        return;
      }
      case "FeatureReleased":
        this.featureReleasesOf(productOf(state, event.license))[event.by] += 1;
        return;
      case "FeatureExpired":
        this.featureReleasesOf(productOf(state, event.license)).expiry += 1;
        return;
      default:
    }
  }

  ofLicense(license: number): LicenseCounts {
    const existing = this.#licenses.get(license);
    if (existing !== undefined) return existing;
    const created = { grants: 0, releases: noReleases() };
    this.#licenses.set(license, created);
    return created;
  }

  featureReleasesOf(product: string): ReleaseCounts {
    const existing = this.#featureReleases.get(product);
    if (existing !== undefined) return existing;
    const created = noReleases();
    this.#featureReleases.set(product, created);
    return created;
  }

  featureGrantsOf(key: string): number {
    return this.#featureGrants.get(key) ?? 0;
  }
}

const noReleases = (): ReleaseCounts => ({ user: 0, admin: 0, expiry: 0 });

/** Codes have no line breaks. */
export const featureKey = (product: string, feature: string): string => `${product}\n${feature}`;

const productOf = ({ licenses }: State, license: number): string =>
  licenses.get(license)?.terms.product ?? "";
