/** The exit codes of commands. */
export const exitCodes = {
  done: 0,
  /** The command failed: it was refused, found no server, or has a bug. */
  refused: 1,
  /** The command line or a setting is wrong. */
  misused: 2,
} as const

/** The command failed for the reason in the message. Shown without a stack, because it is not a bug. */
export class Refusal extends Error {}

/** The command line or a setting is wrong, so the command did nothing. */
export class Misuse extends Error {}
