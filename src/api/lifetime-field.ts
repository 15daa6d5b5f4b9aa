import { z } from 'zod'

/** Seconds until something that is given out ends by itself. Shorter than a minute, nobody can hand it on. */
const lifetimeSMin = 60

/** A year: an invitation that nobody took by then is forgotten. */
const codeLifetimeSMax = 31_536_000

/** Ten years: keys are built into machines. */
const keyLifetimeSMax = 315_360_000

export const codeLifetimeField = z.int().min(lifetimeSMin).max(codeLifetimeSMax)

/** Where it is left out, the key ends when it is deleted. */
export const keyLifetimeField = z.int().min(lifetimeSMin).max(keyLifetimeSMax)
