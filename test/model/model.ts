// A second, independent implementation of the rules, written from the documentation and not from
// the sources of the rules. It is slow, with full scans over plain lists, so that it can be checked
// by reading it. Where the documentation leaves something open (such as which of two true reasons a
// refusal names), a comment at the rule says what was chosen.
import type { Command } from "../../src/domain/decide.ts";
import type { Instant } from "../../src/domain/time.ts";
import { jumpClock, setClockBack } from "./clock-rules.ts";
import { consume, consumeFeature } from "./count-rules.ts";
import { registerFeature, releaseAllFeatures, releaseFeature } from "./feature-rules.ts";
import { cancelRequest, installLicense, makeRequest, removeLicense } from "./license-rules.ts";
import { makeGrant, Refusal, type Answer, type ModelSite } from "./site.ts";
import { borrow, runOnce, register, unregister, unregisterAll } from "./slot-rules.ts";

export function applyToModel(site: ModelSite, command: Command, at: Instant): Answer {
  site.commandCount += 1;
  try {
    return decide(site, command, at);
  } catch (error) {
    if (error instanceof Refusal) return { refused: error.reasons };
    throw error;
  }
}

function decide(site: ModelSite, command: Command, at: Instant): Answer {
  switch (command.type) {
    case "LicenseGenerate":
      return makeRequest(site, command, at);
    case "CancelRequest":
      return cancelRequest(site, command);
    case "LicenseUpload":
      return installLicense(site, command, at);
    case "LicenseRemove":
      return removeLicense(site, command, at);
    case "Register":
      return register(site, command, at);
    case "Borrow":
      return runOnce(site, command, at, () => borrow(site, command, at));
    case "Unregister":
      return unregister(site, command, at);
    case "UnregisterAll":
      return unregisterAll(site, command, at);
    case "FeatureRegister":
      return registerFeature(site, command, at);
    case "FeatureRelease":
      return releaseFeature(site, command, at);
    case "FeatureReleaseAll":
      return releaseAllFeatures(site, at);
    case "AddConsumption":
      return runOnce(site, command, at, () => consume(site, command, at));
    case "AddFeatureConsumption":
      return runOnce(site, command, at, () => consumeFeature(site, command, at));
    case "JumpClock":
      return jumpClock(site, command);
    case "SetClockBack":
      return setClockBack(site, command, at);
    case "MarkClock":
    case "AskClock":
      return makeGrant({});
    default:
      throw new Error(`the model does not know ${command.type}`);
  }
}
