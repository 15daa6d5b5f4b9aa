/** How a command ends, for whoever started it. */
export const exitCodes = {
  done: 0,
  /** By the server, or because there is none to ask. */
  refused: 1,
  /** What was typed, or set, can't be meant. */
  misused: 2,
} as const

/** It was not done; the message says why, and what to do where there is something. No stack: nothing is broken. */
export class Refusal extends Error {}

/** Nothing was tried: something has to be typed or set differently. */
export class Misuse extends Error {}
