// A second, independent statement of the rules, written from the documents and not from the rules'
// own sources: slow, with full scans over plain lists, so that it can be checked by reading it.
// Where the documents leave something open (which of two true reasons a refusal names), the
// comments beside the rule say what was chosen.
import type { Command } from "../../src/domain/command.ts";
import type { Instant } from "../../src/domain/time.ts";
import { jumpAhead, setBack } from "./clock-rules.ts";
import { consume, consumeFeature } from "./count-rules.ts";
import { registerFeature, releaseAllFeatures, releaseFeature } from "./feature-rules.ts";
import { install, makeRequest, remove } from "./license-rules.ts";
import { granted, Refusal, type Answer, type Site } from "./site.ts";
import { borrow, once, register, unregister, unregisterAll } from "./slot-rules.ts";

export function applyToModel(site: Site, command: Command, at: Instant): Answer {
  site.position += 1;
  try {
    return decide(site, command, at);
  } catch (error) {
    if (error instanceof Refusal) return { refused: error.reasons };
    throw error;
  }
}

function decide(site: Site, command: Command, at: Instant): Answer {
  switch (command.type) {
    case "MakeRequest":
      return makeRequest(site, command, at);
    case "InstallLicense":
      return install(site, command, at);
    case "RemoveLicense":
      return remove(site, command, at);
    case "Register":
      return register(site, command, at);
    case "Borrow":
      return once(site, command, at, () => borrow(site, command, at));
    case "Unregister":
      return unregister(site, command, at);
    case "UnregisterAll":
      return unregisterAll(site, command, at);
    case "RegisterFeature":
      return registerFeature(site, command, at);
    case "ReleaseFeature":
      return releaseFeature(site, command, at);
    case "ReleaseAllFeatures":
      return releaseAllFeatures(site, at);
    case "AddConsumption":
      return once(site, command, at, () => consume(site, command, at));
    case "AddFeatureConsumption":
      return once(site, command, at, () => consumeFeature(site, command, at));
    case "JumpClock":
      return jumpAhead(site, command);
    case "SetClockBack":
      return setBack(site, command, at);
    case "MarkClock":
    case "AskClock":
      return granted({});
    default:
      throw new Error(`the model does not know ${command.type}`);
  }
}
