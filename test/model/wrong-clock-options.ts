// What the generated sequences may do while the clock is wrong. With some of these on, the rules
// and the model differ: for grants made while the clock was wrong, the rules promise less than the
// model, which knows how wrong it was. MODEL_REACH lists the options to turn on, or `all`.
const enabledNames = (process.env["MODEL_REACH"] ?? "").split(",");
const isOn = (name: string): boolean => enabledNames.includes(name) || enabledNames.includes("all");

export const WRONG_CLOCK_OPTIONS = {
  /** A user who borrowed while the clock was wrong borrows again, still by a wrong clock. */
  canBorrowAgain: isOn("canBorrowAgain"),
  /**
   * After a set-back, a total contains only what the right clock would have counted in its period.
   */
  canCountExactly: isOn("canCountExactly"),
  /** A wrong clock jumps again after the true time has passed the target of its earlier jump. */
  canJumpAgain: isOn("canJumpAgain"),
  /** A wrong clock is set back to another wrong time first. */
  canSetBackInParts: isOn("canSetBackInParts"),
  /** A slot is released although the right clock lent it for longer without early return. */
  canReturnSlots: true,
  /** A license is renewed with other periods while the clock is wrong. */
  canRenewLicenses: isOn("canRenewLicenses"),
  /** A counter counts for the first time while the clock is wrong. */
  canCountFirstTime: isOn("canCountFirstTime"),
};
