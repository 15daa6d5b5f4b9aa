import { z } from 'zod'

/** The result of a sign-in by the DPoP scheme; both tokens are bound to the proven key. §4.1. */
export const TokenPair = z.object({ accessToken: z.string(), refreshToken: z.string() })
export type TokenPair = z.infer<typeof TokenPair>

export const examplePair = {
  accessToken: 'eyJhbGciOiJFUzI1NiJ9.e30.c2ln',
  refreshToken: 'default.3Nc7xJr4Vq.1.Zm9vYmFyYmF6Zm9vYmFyYmF6Zm9vYmFyYmF6MDEyMzQ',
}

/** Longer than any token of this server. */
export const tokenField = z.string().max(4096)
