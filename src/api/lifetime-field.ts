import { z } from 'zod'

/** The minimum lifetime in seconds: a shorter one leaves no time to hand over a code or key. */
const lifetimeSMin = 60

/** A year: an older invitation is no longer expected. */
const codeLifetimeSMax = 31_536_000

/** Ten years: keys are built into machines. */
const keyLifetimeSMax = 315_360_000

export const codeLifetimeField = z.int().min(lifetimeSMin).max(codeLifetimeSMax)

/** If absent, the key is valid until it is deleted. */
export const keyLifetimeField = z.int().min(lifetimeSMin).max(keyLifetimeSMax)
