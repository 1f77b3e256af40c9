// How far the generated sequences go with a wrong clock. With some of these on, the rules and the
// model part: for what was granted while the clock was wrong the rules promise less than the model,
// which knows by how much it was. MODEL_REACH turns some of them on, `all` every one.
const asked = (process.env["MODEL_REACH"] ?? "").split(",");
const isOn = (name: string): boolean => asked.includes(name) || asked.includes("all");

export const WRONG_CLOCK_OPTIONS = {
  /** A user who borrowed while the clock was wrong borrows again, still by a wrong clock. */
  canBorrowAgain: isOn("isBorrowedAgain"),
  /** A set-back leaves in a total only what the right clock would have counted in its period. */
  canCountExactly: isOn("isCountedExactly"),
  /** A wrong clock jumps again after the right time has passed what it jumped to before. */
  canJumpAgain: isOn("isJumpedAgain"),
  /** A wrong clock is set back to another wrong time first. */
  canSetBackInParts: isOn("isSetBackInParts"),
  /** A slot is given back that the right clock lent for longer, and that cannot be given back. */
  canReturnSlots: true,
  /** A license is renewed with other periods while the clock is wrong. */
  canRenewLicenses: isOn("isRenewed"),
  /** A counter counts for the first time while the clock is wrong. */
  canCountFirstTime: isOn("isFirstCounted"),
};
