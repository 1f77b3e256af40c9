/** A command that the desk refuses, with a hint for the user. */
export class DeskRefused extends Error {
  override readonly name: string = "DeskRefused";
  readonly hint: string;

  constructor(message: string, hint: string) {
    super(message);
    this.hint = hint;
  }
}

/** A version of Berth wrote the desk that this one does not know. */
export class DeskFormatRefused extends DeskRefused {
  override readonly name = "DeskFormatRefused";
}

/** A person must decide: it can be granted with another command or option. */
export class DecisionNeeded extends DeskRefused {
  override readonly name = "DecisionNeeded";
  /** What has to be decided; for programs. */
  readonly code: string;

  constructor(code: string, message: string, hint: string) {
    super(message, hint);
    this.code = code;
  }
}

/** Why a person must decide, or why nobody can grant it. */
export interface Obstacle {
  /** For programs. */
  readonly code: string;
  readonly text: string;
  /** What helps; empty: nothing in particular. */
  readonly hint: string;
}

/** A refusal as data; any other error is thrown again. */
export function toObstacle(error: unknown): Obstacle {
  if (!(error instanceof DeskRefused)) throw error;
  const code = error instanceof DecisionNeeded ? error.code : "refused";
  return { code, text: error.message, hint: error.hint };
}
