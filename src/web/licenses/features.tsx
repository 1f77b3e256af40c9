import { formatNumber } from "../format.ts";
import { Consumption } from "../overview/license-card.tsx";
import { SlotBar } from "../parts/slot-bar.tsx";
import { licenses as texts } from "./licenses-texts.ts";
import { overview } from "../overview/overview-texts.ts";
import type { Feature } from "./license.ts";
import { featureTextOf } from "./terms.ts";

/** The features of a license, with the use of each. */
export const Features = ({ features }: { features: readonly Feature[] }) => (
  <section class="card">
    <h3>{texts.featuresTitle}</h3>
    {features.length === 0 ? (
      <p class="muted">{texts.noFeaturesText}</p>
    ) : (
      <ul class="features">
        {features.map((feature) => (
          <li key={feature.code} class="license">
            <strong>{feature.name}</strong>
            {feature.name !== feature.code && <span class="muted"> {feature.code}</span>}
            <p class="muted">{featureTextOf(feature)}</p>
            <FeatureUsage feature={feature} />
          </li>
        ))}
      </ul>
    )}
  </section>
);

function FeatureUsage({ feature }: { feature: Feature }) {
  const { floating_users: all, floating_in_use_devices: used, max_consumption: max } = feature;
  return (
    <>
      {all !== null && (
        <>
          <SlotBar used={used} total={all} />
          <p class="figures">{overview.inUse(formatNumber(used), formatNumber(all))}</p>
        </>
      )}
      {feature.feature_type === "consumption" &&
        (max === null ? (
          <p class="muted">{texts.consumedUnlimited(formatNumber(feature.total_consumptions))}</p>
        ) : (
          <Consumption total={feature.total_consumptions} max={max} />
        ))}
    </>
  );
}
